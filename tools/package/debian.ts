// Files of Debian packages of any architecture, by apt-get with lists of its own: nothing of the
// machine changes, and no program of the package runs.
import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { modules, run } from "./step.ts";

/** Architectures in Debian. */
export type Architecture = "amd64" | "arm64";

/**
 * Downloads packages from the machine's sources, whose signatures apt-get verifies, and unpacks them.
 *
 * @returns the folder with their files.
 * @throws Error on a system without apt-get.
 */
export function debianFiles(architecture: Architecture, packages: readonly string[]): string {
  const cache = join(modules, ".cache/mooring-platforms", `debian-${architecture}`);
  const folder = join(cache, packages.join("+"));
  if (existsSync(join(folder, ".complete"))) return folder;
  const state = join(cache, "state");
  mkdirSync(join(state, "lists/partial"), { recursive: true });
  mkdirSync(join(cache, "archives"), { recursive: true });
  mkdirSync(folder, { recursive: true });
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    `Dir::State=${state}`,
    `Dir::State::status=${join(state, "status")}`,
    `Dir::Cache=${cache}`,
    "APT::Sandbox::User=root",
    "Acquire::Languages=none",
  ].flatMap((option) => ["-o", option]);
  writeFileSync(join(state, "status"), "");
  run("apt-get", [...options, "-q", "update"], cache);
  run("apt-get", [...options, "-q", "download", ...packages], join(cache, "archives"));
  for (const name of packages) {
    const [file] = globSync(`${name}_*.deb`, { cwd: join(cache, "archives") });
    if (file === undefined) throw new Error(`apt-get has no package ${name} for ${architecture}`);
    run("dpkg-deb", ["-x", join(cache, "archives", file), folder], cache);
  }
  writeFileSync(join(folder, ".complete"), "");
  return folder;
}

/** Licence of libraries of GCC that a package contains. @param names of their files. */
export function gccLicence(names: string): string {
  return `Of the GNU Compiler Collection, unchanged, by the Free Software Foundation: ${names}
GNU General Public License, version 3 or later, with the GCC Runtime Library Exception, version 3.1:
https://www.gnu.org/licenses/gpl-3.0.html https://www.gnu.org/licenses/gcc-exception-3.1.html
Sources: https://gcc.gnu.org
`;
}
