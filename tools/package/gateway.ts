// Builds mooring-gateway-VERSION.tgz: the gateway as ES modules and as CommonJS, its declarations,
// its pages, and the proto files that contracts import.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { build, type ModuleFormat } from "rolldown";
import { readManifest, root, run } from "./step.ts";

/** Packages that a program with the gateway provides, and the oldest version that works. */
const PEERS: Readonly<Record<string, string>> = {
  "@bufbuild/protobuf": "^2.12.0",
  "@connectrpc/connect": "^2.0.0",
  fastify: "^5.0.0",
};
/** Proto files that contracts import: rules, raw bodies, required fields, the gateway's options. */
const PROTOS = [
  "google/api/annotations.proto",
  "google/api/field_behavior.proto",
  "google/api/http.proto",
  "google/api/httpbody.proto",
  "mooring/rest/v1/rest.proto",
];
/** Entries by their export: file, and the source of its declaration. */
const ENTRIES = { ".": ["index", "entry"], "./fetch": ["fetch", "entry-fetch"] } as const;

const source = join(root, "src/gateway");

/** @param target folder of the package. */
export async function makeGatewayPackage(target: string): Promise<void> {
  const folder = join(target, "gateway-package");
  rmSync(folder, { recursive: true, force: true });
  await bundle(folder, "esm", { command: join(source, "openapi/bin.ts") });
  // A folder of its own: programs that require it get the CommonJS of Connect and protobuf, too.
  await bundle(join(folder, "cjs"), "cjs", {});
  writeFileSync(join(folder, "cjs/package.json"), '{ "type": "commonjs" }\n');
  addDeclarations(folder, join(target, "gateway-declarations"));
  addProtos(folder);
  addPages(folder);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(createManifest(), null, 2)}\n`);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}

async function bundle(
  dir: string,
  format: ModuleFormat,
  more: Readonly<Record<string, string>>,
): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const entries = Object.values(ENTRIES).map(([file, entry]) => [
    file,
    join(source, `${entry}.ts`),
  ]);
  await build({
    input: { ...Object.fromEntries(entries), ...more },
    external: [/^node:/, ...Object.keys(PEERS).map((one) => new RegExp(`^${one}(?:/|$)`))],
    platform: "node",
    // Otherwise an unused import of a Node module would still load it.
    treeshake: { moduleSideEffects: false },
    output: {
      dir,
      format,
      // Readable stack traces without source maps.
      minify: false,
      comments: false,
      chunkFileNames: "[name].js",
      // Code for requests is one file: several would import forty names from each other.
      codeSplitting: {
        groups: [{ name: "gateway", test: (id) => !id.includes("/openapi/"), minShareCount: 2 }],
      },
    },
  });
}

function addDeclarations(folder: string, declarations: string): void {
  rmSync(declarations, { recursive: true, force: true });
  run("tsc", ["-p", join(source, "tsconfig.json"), "--outDir", declarations], root);
  cpSync(join(root, "gen"), join(declarations, "gen"), { recursive: true });
  for (const [, entry] of Object.values(ENTRIES))
    for (const to of [folder, join(folder, "cjs")])
      copyDeclaration(declarations, to, `src/gateway/${entry}.d.ts`);
  rmSync(declarations, { recursive: true });
}

/** Copies a declaration file and its imports, with the names that compilers resolve. */
function copyDeclaration(from: string, to: string, file: string): void {
  if (existsSync(join(to, file))) return;
  const whole = readFileSync(join(from, file), "utf8").replace(/("\.[^"\n]*)\.ts"/g, '$1.js"');
  const text = whole
    // The compiler indents by four spaces.
    .replace(/^ +/gm, (space) => " ".repeat(Math.ceil(space.length / 2)))
    .replace(/^export declare type /gm, "export type ");
  mkdirSync(dirname(join(to, file)), { recursive: true });
  writeFileSync(join(to, file), text);
  for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g))
    copyDeclaration(from, to, `${join(dirname(file), path)}.d.ts`);
}

function addProtos(folder: string): void {
  for (const file of PROTOS) {
    mkdirSync(dirname(join(folder, "proto", file)), { recursive: true });
    copyFileSync(join(root, "proto", file), join(folder, "proto", file));
  }
}

function addPages(folder: string): void {
  copyFileSync(join(source, "README.md"), join(folder, "README.md"));
  cpSync(join(source, "docs"), join(folder, "docs"), { recursive: true });
  // The appendix only describes how to apply the licence (optional in SPDX).
  const [terms = ""] = readFileSync(join(root, "LICENSE"), "utf8").split(/^ +APPENDIX:/m);
  writeFileSync(join(folder, "LICENSE"), `${terms.trimEnd()}\n`);
}

function createManifest(): object {
  const { name, version, license, type } = readManifest(root);
  const exported = Object.entries(ENTRIES).map(([path, [file, entry]]) => [
    path,
    {
      import: { types: `./src/gateway/${entry}.d.ts`, default: `./${file}.js` },
      require: { types: `./cjs/src/gateway/${entry}.d.ts`, default: `./cjs/${file}.js` },
    },
  ]);
  return {
    name: `${name}-gateway`,
    version,
    description:
      "REST by google.api.http rules for Connect services: a Fastify plugin and a fetch handler, with Connect, gRPC-Web and OpenAPI 3.1",
    keywords: [
      "connect",
      "connectrpc",
      "fastify",
      "fastify-plugin",
      "google.api.http",
      "grpc",
      "grpc-gateway",
      "grpc-web",
      "openapi",
      "protobuf",
      "rest",
      "transcoding",
    ],
    license,
    type,
    engines: { node: ">=22" },
    main: "./cjs/index.js",
    types: "./cjs/src/gateway/entry.d.ts",
    exports: { ...Object.fromEntries(exported), "./package.json": "./package.json" },
    // For compilers that do not read exports.
    typesVersions: { "*": { fetch: ["./cjs/src/gateway/entry-fetch.d.ts"] } },
    bin: { [`${name}-gateway`]: "./command.js" },
    sideEffects: false,
    peerDependencies: PEERS,
    // The fetch handler needs no server.
    peerDependenciesMeta: { fastify: { optional: true } },
  };
}
