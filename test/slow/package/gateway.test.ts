import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { developmentProgram } from "../../../tools/development.ts";
import { temporaryFolder } from "../../temporary.ts";
import { DUNE, PREPARING, packGateway, ROOT, run, send, startServer } from "./gateway-package.ts";

/** Size limits of the packed file and of its content, in bytes. */
const MAX_PACKED = 200_000;
const MAX_CONTENT = 800_000;

let out: string;
let archive: string;
let folder: string;

beforeAll(() => {
  ({ folder: out, archive } = packGateway());
  execFileSync("tar", ["-xzf", archive, "-C", out]);
  folder = join(out, "package");
}, PREPARING);

afterAll(() => rmSync(out, { recursive: true, force: true }));

function files(pattern: string): string[] {
  return globSync(pattern, { cwd: folder }).filter((file) => statSync(join(folder, file)).isFile());
}

function textOf(file: string): string {
  return readFileSync(join(folder, file), "utf8");
}

test("the package is small, and has licence, page, types and the protos that contracts import", () => {
  const all = files("**/*");
  expect(all).toEqual(
    expect.arrayContaining([
      "LICENSE",
      "README.md",
      "index.js",
      "fetch.js",
      "command.js",
      "package.json",
      "src/gateway/entry.d.ts",
      "src/gateway/entry-fetch.d.ts",
      "proto/google/api/annotations.proto",
    ]),
  );
  expect(all.filter((file) => /\.map$/.test(file))).toEqual([]);
  const sizes = all.map((file) => statSync(join(folder, file)).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_CONTENT);
  expect(statSync(archive).size).toBeLessThanOrEqual(MAX_PACKED);
});

test("the package imports only itself, Node and its dependencies", () => {
  const manifest = JSON.parse(textOf("package.json"));
  expect(manifest.dependencies).toBeUndefined();
  const peers = Object.keys(manifest.peerDependencies);
  expect(peers).toEqual(["@bufbuild/protobuf", "@connectrpc/connect", "fastify"]);
  const code = files("**/*.{js,d.ts}");
  expect(code.length).toBeGreaterThan(10);
  for (const file of code) {
    const text = textOf(file);
    expect(text, file).not.toMatch(/mooring[./]v1|mooring-client/);
    for (const [, name = ""] of text.matchAll(/(?:from\s*|import\(?\s*)"([^"\n]+)"/g)) {
      const path = file.endsWith(".d.ts") ? name.replace(/\.js$/, ".d.ts") : name;
      const inside = join(folder, dirname(file), path);
      const known = name.startsWith(".")
        ? existsSync(inside)
        : peers.some((peer) => name === peer || name.startsWith(`${peer}/`)) ||
          builtinModules.includes(name.replace(/^node:/, ""));
      expect([file, name, known]).toEqual([file, name, true]);
    }
  }
});

test("restHandler needs no server of Node and no Fastify", () => {
  const seen = new Set<string>();
  const follow = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name = ""] of textOf(file).matchAll(/(?:from\s*|import\(?\s*)"([^"\n]+)"/g))
      if (name.startsWith("./")) follow(name.slice(2));
      else seen.add(name);
  };
  follow("fetch.js");
  const modules = [...seen].filter((name) => name.startsWith("node:") || name === "fastify");
  expect(modules.sort()).toEqual(["node:crypto", "node:timers/promises", "node:util", "node:zlib"]);
});

test("the manifest describes the package", () => {
  const manifest = JSON.parse(textOf("package.json"));
  expect(manifest).toMatchObject({
    name: "mooring-gateway",
    license: "Apache-2.0",
    description: expect.stringContaining("google.api.http"),
    keywords: expect.arrayContaining(["fastify-plugin", "connectrpc", "openapi"]),
    peerDependencies: {
      "@bufbuild/protobuf": "^2.12.0",
      "@connectrpc/connect": "^2.0.0",
      fastify: "^5.0.0",
    },
  });
});

test("every exported type, option and member has a text for editors", () => {
  const undocumented = [...publicDeclarations()].filter(([, text]) => !/\*\/\s*$/.test(text));
  expect(undocumented.map(([name]) => name)).toEqual([]);
});

/**
 * The exported declarations and their members that the entries reach, each with the text before it.
 */
function publicDeclarations(): Map<string, string> {
  const found = new Map<string, string>();
  const open = ["entry", "entry-fetch"].map((name) => `src/gateway/${name}.d.ts`);
  const exported = new Set(
    open
      .flatMap((file) => [...textOf(file).matchAll(/\b(?:type )?(\w+)(?=[,\s]*[,}])/g)])
      .map(([, name]) => name),
  );
  for (const also of ["BodyBounds", "StreamTimes", "SlowReaderBounds"]) exported.add(also);
  for (const file of files("src/**/*.d.ts")) {
    const text = textOf(file);
    for (const match of text.matchAll(
      /^export (?:declare )?(?:interface|type|class|function|const) (\w+)/gm,
    )) {
      const [whole = "", name = ""] = match;
      if (!exported.has(name)) continue;
      found.set(name, text.slice(0, match.index));
      if (!/interface|class/.test(whole)) continue;
      const end = text.indexOf("\n}", match.index);
      const body = text.slice(match.index, end);
      for (const member of body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm))
        if (member[1] !== "constructor")
          found.set(`${name}.${member[1]}`, body.slice(0, member.index));
    }
  }
  return found;
}

describe("the proto files", () => {
  const modules = (place: string, paths: string): void => {
    cpSync(join(ROOT, "examples/gateway/proto"), join(place, "proto"), { recursive: true });
    const proto = join(place, "proto/library/v1/library.proto");
    const imports = [
      "google/api/httpbody.proto",
      "google/api/field_behavior.proto",
      "mooring/rest/v1/rest.proto",
    ];
    const lines = imports.map((one) => `import "${one}";`).join("\n");
    writeFileSync(
      proto,
      readFileSync(proto, "utf8").replace(/^import .*$/m, (own) => `${own}\n${lines}`),
    );
    cpSync(folder, join(place, "node_modules/mooring-gateway"), { recursive: true });
    writeFileSync(join(place, "buf.yaml"), `version: v2\nmodules:\n  - path: proto\n${paths}`);
    run(place, developmentProgram("buf"), "build", "-o", "out.binpb");
  };

  test("are all that a contract imports", () => {
    modules(temporaryFolder(), "  - path: node_modules/mooring-gateway/proto\n");
  });

  test("go with google-proto-files without those of the gateway", () => {
    const place = temporaryFolder();
    const google = join(place, "node_modules/google-proto-files/google/api");
    mkdirSync(google, { recursive: true });
    for (const name of ["annotations", "http", "httpbody", "field_behavior"])
      cpSync(join(ROOT, `proto/google/api/${name}.proto`), join(google, `${name}.proto`));
    modules(
      place,
      `  - path: node_modules/google-proto-files
  - path: node_modules/mooring-gateway/proto
    excludes: [node_modules/mooring-gateway/proto/google]
`,
    );
  });
});

test("publint reports nothing", () => {
  const printed = run(folder, developmentProgram("publint"), "--strict", "--pack", "false");
  expect(printed).toContain("All good!");
});

test("arethetypeswrong has no complaint", () => {
  const printed = run(folder, developmentProgram("attw"), "--format", "json", archive);
  const { analysis } = JSON.parse(printed);
  expect(analysis).toMatchObject({ types: { kind: "included" }, problems: [] });
});

test("the example is that of the page, and runs in an empty folder", async () => {
  const example = join(ROOT, "examples/gateway");
  const server = readFileSync(join(example, "server.ts"), "utf8");
  expect(textOf("README.md")).toContain(`\`\`\`ts\n${server}\`\`\``);
  const place = temporaryFolder();
  mkdirSync(place, { recursive: true });
  cpSync(example, place, {
    recursive: true,
    filter: (path) => !/\/(?:gen|node_modules)$/.test(path),
  });
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  run(place, "npm", "install", ...quiet, archive);
  run(place, "npx", "buf", "generate");
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
  const options = [
    "--noEmit",
    "--allowImportingTsExtensions",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
  ];
  run(place, tsc, ...options, "--skipLibCheck", ...types, "server.ts");
  const url = await startServer(place, process.execPath, "server.ts");
  const emma = { bookId: "emma", title: "Emma", pageCount: 0 };
  expect(await send(`${url}/v1/books/dune`)).toEqual([200, DUNE]);
  expect(await send(`${url}/v1/books`, { bookId: "emma", title: "Emma" })).toEqual([200, emma]);
  expect(await send(`${url}/v1/books?minPageCount=100`)).toEqual([200, { books: [DUNE] }]);
  const lines = `${JSON.stringify(DUNE)}\n${JSON.stringify(emma)}\n`;
  expect(await send(`${url}/v1/books:read`)).toEqual([200, lines]);
  const rpc = `${url}/library.v1.LibraryService/GetBook`;
  expect(await send(rpc, { bookId: "dune" })).toEqual([200, DUNE]);
  run(place, "npx", "buf", "build", "-o", "library.binpb");
  const made = JSON.parse(run(place, "npx", "mooring-gateway", "openapi", "library.binpb"));
  expect(made.paths).toHaveProperty("/v1/books/{book_id}");
  expect(await send(`${url}/openapi.json`)).toMatchObject([
    200,
    {
      openapi: "3.1.0",
      paths: { "/v1/books/{book_id}": { get: { operationId: "LibraryService_GetBook" } } },
      components: { schemas: { Book: { properties: { pageCount: { type: "integer" } } } } },
    },
  ]);
}, 300_000);
