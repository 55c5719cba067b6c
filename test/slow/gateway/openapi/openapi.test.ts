import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type DescMethod,
  type DescMethodClientStreaming,
  type DescService,
  fromJson,
  type JsonObject,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { fastify } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { restGateway } from "../../../../src/gateway/gateway.ts";
import type { Method } from "../../../../src/gateway/method.ts";
import { readComments } from "../../../../src/gateway/openapi/command.ts";
import { createOpenApi } from "../../../../src/gateway/openapi/document.ts";
import { streaming, unary } from "../../../gateway/gateway-server.ts";
import { type Compiled, compileContract } from "../../../gateway/openapi/contract.ts";

// The document of a contract with every kind of rule: its linter, and a client that is generated
// from it and calls each rule.

const TIMEOUT = 5 * 60_000;
const LICENCE = { name: "Apache-2.0", identifier: "Apache-2.0" };

let contract: Compiled;
let folder: string;
let document: JsonObject;

beforeAll(() => {
  contract = compileContract();
  folder = mkdtempSync(join(tmpdir(), "mooring-client-"));
  cpSync(join(import.meta.dirname, "client"), folder, { recursive: true });
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  run("npm", "install", ...quiet, "--no-package-lock");
  document = createOpenApi({
    title: "Library",
    version: "1",
    info: { license: LICENCE },
    methods: methodsOf(() => undefined),
    mapParameters: true,
    comments: readComments(contract.set.file),
  });
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
}, TIMEOUT);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, ...args: string[]): string {
  // Its linter asks for newer versions, and reports its uses.
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  return execFileSync(command, args, {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: "pipe",
    timeout: TIMEOUT,
  });
}

/** A program of the folder's packages. */
function runPackage(name: string, ...args: string[]): string {
  return run(process.execPath, join("node_modules/.bin", name), ...args);
}

type Note = (rpc: string, request: unknown) => void;

/** The rpcs of both services; each reports its requests. */
function methodsOf(note: Note): Method[] {
  const services = ["archive.v1.LibraryService", "catalog.v1.LibraryService"];
  return services
    .flatMap((name) => (contract.registry.getService(name) as DescService).methods)
    .map((desc) => createMethod(desc, note));
}

function createMethod(desc: DescMethod, note: Note): Method {
  const take = (message: Message): JsonObject => {
    const json = toJson(desc.input, message) as JsonObject;
    note(desc.name, json);
    return json;
  };
  const reply = (request: JsonObject): Message => fromJson(desc.output, replyTo(desc, request));
  switch (desc.methodKind) {
    case "server_streaming":
      return streaming(desc, async function* (message) {
        const request = take(message);
        yield reply(request);
        yield reply(request);
      });
    case "client_streaming":
      return {
        kind: "client_streaming",
        desc: desc as DescMethodClientStreaming,
        invoke: async (messages) => {
          for await (const message of messages) take(message);
          return { message: reply({}) };
        },
      };
    default:
      return unary(desc, (message) => reply(take(message)));
  }
}

function replyTo({ output }: DescMethod, request: JsonObject): JsonObject {
  if (request["name"] === "shelves/none") throw new ConnectError("no such shelf", Code.NotFound);
  switch (output.typeName) {
    case "catalog.v1.Book":
      return { name: "dune", title: "Dune", copies: "9007199254740993" };
    case "catalog.v1.Shelf":
      return { name: request["name"] ?? request["path"] ?? "" };
    case "google.api.HttpBody":
      return { contentType: "text/csv", data: Buffer.from("a,b\n").toString("base64") };
    case "catalog.v1.Status":
      return { ready: true };
    case "catalog.v1.Swap":
      return request;
    case "archive.v1.Book":
      return { boxId: request["id"] ?? request["boxId"] ?? "", weight: 2 };
    default:
      return {};
  }
}

test("the linter has no complaint", () => {
  const text = runPackage(
    "redocly",
    "lint",
    "openapi.json",
    "--extends=recommended",
    "--format=json",
  );
  const { problems } = JSON.parse(text) as { problems: { ruleId: string; message: string }[] };
  expect(problems.map(({ ruleId, message }) => [ruleId, message])).toEqual([]);
});

test(
  "a generated client calls every rule with the values that it is given",
  async () => {
    runPackage("openapi-typescript", "openapi.json", "--output", "api.d.ts");
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
    const modules = ["--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"];
    runPackage(
      "tsc",
      "--noEmit",
      "--allowImportingTsExtensions",
      ...strict,
      ...modules,
      "client.ts",
    );
    const calls: [string, unknown][] = [];
    const app = fastify();
    onTestFinished(() => app.close());
    const methods = methodsOf((rpc, request) => calls.push([rpc, request]));
    await app.register(restGateway, { methods, mapParameters: true });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["client.ts", `http://127.0.0.1:${port}`],
      { cwd: folder, timeout: TIMEOUT },
    );
    const replies = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(replies).toEqual(REPLIES);
    expect(calls).toEqual(CALLS);
    // OpenAPI 3.1 has no place for its method.
    const called = new Set(calls.map(([rpc]) => rpc));
    expect(methods.map(({ desc }) => desc.name).filter((name) => !called.has(name))).toEqual([
      "Purge",
    ]);
  },
  TIMEOUT,
);

const BOOK = {
  name: "dune",
  title: "Dune",
  copies: "9007199254740993",
  secret: "",
  isbn: "",
  oldTitle: "",
  color: "COLOR_UNSPECIFIED",
};
const LINE = JSON.stringify(BOOK);

/** Results of the client: name of a call, status, data or error. */
const REPLIES = [
  ["GetBook", 200, BOOK.copies],
  ["GetBook_2", 200, BOOK],
  ["GetBook_3", 200, BOOK],
  ["GetShelf", 200, { name: "shelves/old & new" }],
  ["GetTheme", 200, { name: "themes/sf" }],
  ["ListBooks", 200, { books: [] }],
  ["CreateBook", 200, BOOK],
  ["UpdateBook", 200, BOOK],
  ["DeleteBook", 200, BOOK],
  ["MoveBook", 200, BOOK],
  ["GetPage", 200, { name: "index" }],
  ["GetPage of several segments", 200, { name: "a b/c" }],
  ["GetTitle", 200, "Dune"],
  ["GetOld", 200, { boxId: "7", weight: 2 }],
  ["GetStatus", 200, { ready: true }],
  ["Exchange", 200, { input: { left: "x" }, none: null }],
  ["Upload", 200, { name: "a.csv" }],
  ["Download", 200, "a,b\n"],
  ["WatchBooks as lines", 200, `${LINE}\n${LINE}\n`],
  ["WatchBooks as an array", 200, [BOOK, BOOK]],
  ["WatchBooks as events", 200, `data: ${LINE}\n\ndata: ${LINE}\n\n`],
  ["ImportBooks", 200, { books: [] }],
  ["Any", 200, { ready: true }],
  ["PutBook", 200, { boxId: "7", weight: 2 }],
  ["an error", 404, 5],
];

const SHELF = "shelves/old & new";
const DUNE = { name: `${SHELF}/books/dune` };
const DRAFT = { title: "Emma", isbn: "1", copies: "3", extra: { pages: [1, null] } };
const WATCHED = { parent: SHELF, view: "full" };

/** Requests as they reach the rpcs, without members of their default value. */
const CALLS = [
  ["GetBook", DUNE],
  ["GetBook", { name: "themes/sf/books/dune" }],
  ["GetBook", { name: "books/dune" }],
  ["GetShelf", { name: SHELF }],
  ["GetTheme", { name: "themes/sf" }],
  [
    "ListBooks",
    {
      ...WATCHED,
      pageSize: 5,
      filter: {
        author: { name: "Frank Herbert" },
        color: "COLOR_RED",
        since: "2026-01-31T08:00:00Z",
      },
      labels: { size: "large", "a b": "c&d" },
      tags: ["one", "two, three"],
    },
  ],
  ["CreateBook", { parent: SHELF, bookId: "emma", book: DRAFT }],
  ["UpdateBook", { book: { ...DUNE, oldTitle: "Emma" }, updateMask: "oldTitle" }],
  ["DeleteBook", DUNE],
  ["MoveBook", { ...DUNE, shelf: "new" }],
  ["GetPage", { path: "index" }],
  ["GetPage", { path: "a b/c" }],
  ["GetTitle", DUNE],
  ["GetOld", { id: "7" }],
  ["GetStatus", {}],
  ["Exchange", { input: { left: "x" } }],
  [
    "Upload",
    {
      name: "a.csv",
      content: { contentType: "text/csv", data: Buffer.from("a,b\n").toString("base64") },
    },
  ],
  ["Download", { name: "a.csv" }],
  ["WatchBooks", WATCHED],
  ["WatchBooks", WATCHED],
  ["WatchBooks", WATCHED],
  ["ImportBooks", DRAFT],
  ["ImportBooks", { ...DRAFT, title: "Dune" }],
  ["Any", {}],
  ["PutBook", { boxId: "7", weight: 2 }],
  ["GetShelf", { name: "shelves/none" }],
];
