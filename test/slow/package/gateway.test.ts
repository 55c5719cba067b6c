import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../temporary.ts";

const ROOT = join(import.meta.dirname, "../../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
/** Time limit of one program, in milliseconds. */
const LONGEST = 170_000;
/** Size limit of all files except maps, in bytes. */
const MAX_SIZE = 150_000;

let out: string;
let archive: string;
let folder: string;

beforeAll(() => {
  out = mkdtempSync(join(tmpdir(), "mooring-gateway-"));
  const tool = join(ROOT, "tools/package.ts");
  execFileSync(process.execPath, [tool, out, "--only", "gateway"], { timeout: LONGEST });
  archive = join(out, `mooring-gateway-${version}.tgz`);
  execFileSync("tar", ["-xzf", archive, "-C", out]);
  folder = join(out, "package");
}, 400_000);

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
  const sizes = all.map((file) => (file.endsWith(".map") ? 0 : statSync(join(folder, file)).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_SIZE);
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

test("publint reports nothing", async () => {
  const { messages } = await publint({ pkgDir: folder, pack: false, strict: true });
  expect(messages).toEqual([]);
});

test("the types are valid wherever an ESM-only package can be imported", async () => {
  const result = await checkPackage(createPackageFromTarballData(readFileSync(archive)));
  if (!result.types) throw new Error("the package has no types");
  // Omitted by the tool's profile esm-only: importers that cannot import modules at all.
  const left = ["node10", "node16-cjs"];
  const problems = result.problems.filter(
    (problem) => !("resolutionKind" in problem && left.includes(problem.resolutionKind)),
  );
  expect(problems).toEqual([]);
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
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: place, timeout: LONGEST, encoding: "utf8" });
  run("npm", "install", ...quiet, archive);
  run("npx", "buf", "generate");
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"];
  run(tsc, ...options, "--skipLibCheck", ...types, "server.ts");
  const child = spawn(process.execPath, ["server.ts"], {
    cwd: place,
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  const call = async (path: string, body?: object): Promise<[number, string]> => {
    const init = { method: "POST", headers: { "content-type": "application/json" } };
    const sent = body === undefined ? {} : { ...init, body: JSON.stringify(body) };
    const reply = await fetch(`${url}${path}`, sent);
    return [reply.status, await reply.text()];
  };
  const dune = { bookId: "dune", title: "Dune", pageCount: 412 };
  const emma = { bookId: "emma", title: "Emma", pageCount: 0 };
  const text = JSON.stringify;
  expect(await call("/v1/books/dune")).toEqual([200, text(dune)]);
  expect(await call("/v1/books", { bookId: "emma", title: "Emma" })).toEqual([200, text(emma)]);
  expect(await call("/v1/books?minPageCount=100")).toEqual([200, text({ books: [dune] })]);
  expect(await call("/v1/books:read")).toEqual([200, `${text(dune)}\n${text(emma)}\n`]);
  const [status, error] = await call("/v1/books/none");
  expect([status, JSON.parse(error)]).toEqual([404, { code: 5, message: "no book none" }]);
  const connect = await call("/library.v1.LibraryService/GetBook", { bookId: "dune" });
  expect([connect[0], JSON.parse(connect[1])]).toEqual([200, dune]);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 6, 0x0a, 4]), Buffer.from("dune")]);
  const web = await fetch(`${url}/library.v1.LibraryService/GetBook`, {
    method: "POST",
    headers: { "content-type": "application/grpc-web+proto" },
    body: frame,
  });
  expect(await web.text()).toContain("grpc-status: 0");
  run("npx", "buf", "build", "-o", "library.binpb");
  const made = JSON.parse(run("npx", "mooring-gateway", "openapi", "library.binpb"));
  expect(made.paths).toHaveProperty("/v1/books/{book_id}");
  const [, document] = await call("/openapi.json");
  expect(JSON.parse(document)).toMatchObject({
    openapi: "3.1.0",
    paths: { "/v1/books/{book_id}": { get: { operationId: "LibraryService_GetBook" } } },
    components: { schemas: { Book: { properties: { pageCount: { type: "integer" } } } } },
  });
  child.kill("SIGTERM");
}, 300_000);
