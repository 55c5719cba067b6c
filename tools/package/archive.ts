// Builds mooring-VERSION-PLATFORM, a self-contained folder with its own Node, and the same in one
// file. Nothing of the platform runs, so that each is built on any Linux.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { debianFiles, gccLicence } from "./debian.ts";
import { addNode, type Platform, type PlatformName, platforms } from "./platform.ts";
import { closure, copyPapers, EXTERNAL, makeProgram } from "./program.ts";
import { modules, readManifest, root, run, writeTar } from "./step.ts";

/** 1980-01-01 12:00 UTC, in seconds since 1970. */
const ZIP_TIME = 315_576_000;

/** Paths of packages that do not run: native sources, tests, pages, TypeScript and source maps. */
const UNUSED =
  /\/(?:deps|src\/.*\.[ch]pp|binding\.gyp|test|docs|benchmarks?|examples?|\.github|node_modules|[^/]*\.(?:map|[cm]?ts))$/;

/** @param target folder of the archives. @param names of platforms. */
export function makeArchives(target: string, names: readonly PlatformName[]): void {
  const program = join(target, "program");
  rmSync(program, { recursive: true, force: true });
  makeProgram(program);
  for (const name of names) {
    const folder = makeFolder(target, name, program);
    if (name.startsWith("win-")) writeZip(target, basename(folder));
    else writeTar(`${folder}.tar.gz`, { folder: target, paths: [basename(folder)] });
  }
  rmSync(program, { recursive: true });
}

/** A folder with everything that runs, and documents. @param program what {@link makeProgram} made. */
function makeFolder(target: string, name: PlatformName, program: string): string {
  const platform: Platform = platforms[name];
  const own = readManifest(root);
  const folder = join(target, `${own.name}-${own.version}-${name}`);
  rmSync(folder, { recursive: true, force: true });
  addProgram(folder, platform, program);
  copyPapers(folder);
  for (const paper of ["LICENSES.txt", "sbom.cdx.json"])
    renameSync(join(folder, "lib", paper), join(folder, paper));
  const launcher = join(folder, basename(platform.launcher));
  copyFileSync(join(root, "packaging/launcher", platform.launcher), launcher);
  chmodSync(launcher, 0o755);
  if (platform.debian !== undefined)
    copyFileSync(join(root, "packaging/systemd/mooring.service"), join(folder, "mooring.service"));
  return folder;
}

/** Adds the program to `lib/`, and Node to `bin/`. */
export function addProgram(folder: string, platform: Platform, program: string): void {
  const lib = join(folder, "lib");
  cpSync(program, lib, { recursive: true });
  for (const one of closure(EXTERNAL)) copyModule(one, join(lib, "node_modules"), platform);
  addNode(platform, join(folder, "bin"));
  if (platform.debian === undefined) return;
  const library = join(debianFiles(platform.debian, ["libatomic1"]), "usr/lib");
  const [file = ""] = globSync("*/libatomic.so.1", { cwd: library });
  copyFileSync(realpathSync(join(library, file)), join(folder, "bin/libatomic.so.1"));
  writeFileSync(join(folder, "bin/LICENSE.libatomic"), gccLicence("libatomic.so.1"));
}

/** Copies executed files and the licence, with native code of one platform. */
function copyModule(path: string, to: string, { os, cpu }: Platform): void {
  const from = join(modules, path);
  cpSync(from, join(to, path), {
    recursive: true,
    dereference: true,
    filter: (file) => {
      const inside = file.slice(from.length);
      return inside.endsWith(".node")
        ? inside.endsWith(`/${os}-${cpu}.node`)
        : !UNUSED.test(inside);
    },
  });
}

/** Reproducible archive for Windows. Times in this format begin in 1980, in the zone of the process. */
function writeZip(target: string, name: string): void {
  const files = globSync("**", { cwd: join(target, name) }).sort();
  for (const file of files) utimesSync(join(target, name, file), ZIP_TIME, ZIP_TIME);
  rmSync(join(target, `${name}.zip`), { force: true });
  run("zip", ["-9", "-q", "-X", "-r", `${name}.zip`, name], target, { TZ: "UTC" });
}
