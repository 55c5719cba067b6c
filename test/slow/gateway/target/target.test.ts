import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import {
  create,
  createFileRegistry,
  createRegistry,
  fromJson,
  type JsonObject,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file_google_api_annotations } from "../../../../gen/google/api/annotations_pb.js";
import { type Ask, MOUNTS } from "../../../gateway/mount.ts";
import { quickGo } from "../../../go.ts";

const message = (name: string, field: string): JsonObject => ({
  name,
  field: [
    { name: field, jsonName: field, number: 1, type: "TYPE_STRING", label: "LABEL_OPTIONAL" },
  ],
});

const rpc = (name: string, http: JsonObject, more: JsonObject = {}): JsonObject => ({
  name,
  inputType: ".test.v1.Thing",
  outputType: ".test.v1.Box",
  ...more,
  options: { "[google.api.http]": http },
});

/** The contract, which both sides read from its descriptors. */
const file = fromJson(
  FileDescriptorProtoSchema,
  {
    name: "test/v1/target.proto",
    package: "test.v1",
    syntax: "proto3",
    messageType: [message("Thing", "text"), message("Box", "word")],
    service: [
      {
        name: "ThingService",
        method: [
          rpc("Get", { get: "/get/{text}" }),
          rpc("Read", { get: "/read/{text}" }, { serverStreaming: true }),
          rpc("Send", { post: "/send", body: "*" }, { clientStreaming: true }),
        ],
      },
    ],
  },
  { registry: createRegistry(file_google_api_annotations) },
);
const set = create(FileDescriptorSetSchema, { file: [file] });
const services = [...createFileRegistry(set)].filter((desc) => desc.kind === "service");
const folder = mkdtempSync(join(tmpdir(), "mooring-target-"));
let server: ChildProcess;
let address: string;
const waiting: ((line: string) => void)[] = [];

/** The next line of the server's output. */
function nextLine(): Promise<string> {
  return new Promise((resolve) => waiting.push(resolve));
}

beforeAll(async () => {
  const env = { ...process.env, ...quickGo };
  const build = join(import.meta.dirname, "build");
  mkdirSync(build, { recursive: true });
  const program = join(build, "target");
  await promisify(execFile)("go", ["build", "-o", program, "."], { cwd: import.meta.dirname, env });
  const descriptors = join(folder, "contract.binpb");
  writeFileSync(descriptors, toBinary(FileDescriptorSetSchema, set));
  server = spawn(program, [descriptors], { stdio: ["ignore", "pipe", "inherit"] });
  if (server.stdout === null) throw new Error("the server has no output");
  const lines = createInterface({ input: server.stdout });
  // A server that ends has written the reason to its error output.
  const [line] = await Promise.race([once(lines, "line"), once(lines, "close")]);
  if (typeof line !== "string") throw new Error("the server has ended");
  address = line;
  lines.on("line", (line) => waiting.shift()?.(line));
}, 600_000);

afterAll(() => {
  server?.kill();
  rmSync(folder, { recursive: true });
});

describe.each(MOUNTS)("in front of a server of grpc-go, %s", (_, mount) => {
  let ask: Ask;
  const open = async (): Promise<void> => {
    const baseUrl = `http://${address}`;
    const target = createGrpcTransport({ baseUrl, idleConnectionTimeoutMs: 1_000 });
    ask = await mount({ services, target });
  };

  test("a unary call is sent with its metadata and returns headers and trailers", async () => {
    await open();
    const reply = await ask("/get/x", {
      headers: [
        ["x-own", "1"],
        ["x-own", "2"],
      ],
    });
    expect([reply.status, await reply.json()]).toMatchObject([200, { word: "x" }]);
    const headers = Object.fromEntries(reply.headers);
    expect(headers).toMatchObject({
      "x-reply": "1, 2",
      "x-bytes-bin": "AP8",
      "trailer-x-end": "tail",
    });
    // Hop-by-hop headers are not passed on.
    const names = headers["x-names"]?.split(", ");
    expect(names).toEqual(expect.arrayContaining([":authority", "content-type", "x-own"]));
    expect(names).not.toEqual(expect.arrayContaining(["host"]));
    expect(headers["x-time-left"]).toBeUndefined();
  });

  test("an error has its text, its details and its code's status", async () => {
    await open();
    const reply = await ask("/get/fail");
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      {
        code: 3,
        message: "it failed: grün",
        details: [{ fieldViolations: [{ field: "text", description: "is not suitable" }] }],
      },
    ]);
  });

  test("a deadline is passed on, and ends the upstream call", async () => {
    await open();
    const left = (await ask("/get/x", { headers: { "grpc-timeout": "5S" } })).headers.get(
      "x-time-left",
    );
    expect(Number(left)).toBeGreaterThan(0);
    expect(Number(left)).toBeLessThanOrEqual(5_000);
    const line = nextLine();
    const reply = await ask("/get/wait", { headers: { "x-server-timeout": "0.3" } });
    expect([reply.status, await reply.json()]).toMatchObject([504, { code: 4 }]);
    expect(await line).toBe("canceled Get");
  });

  test("a client that disconnects cancels the upstream call", async () => {
    await open();
    const line = nextLine();
    const reply = await ask("/read/wait");
    const reader = reply.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('"word":"a"');
    await reader?.cancel();
    expect(await line).toBe("canceled Read");
  });

  test("a server stream is passed on message by message, with its headers and its failure", async () => {
    await open();
    const reply = await ask("/read/x");
    const words = (await reply.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).word);
    expect([words, reply.headers.get("x-bytes-bin")]).toEqual([["a", "b"], "AP8"]);
    const failed = (await (await ask("/read/fail")).text()).trim().split("\n");
    expect(failed.map((line) => JSON.parse(line))).toMatchObject([
      { word: "a" },
      {
        error: {
          code: 3,
          message: "it failed: grün",
          details: [{ fieldViolations: [{ field: "text" }] }],
        },
      },
    ]);
  });

  test("a client stream is passed on message by message", async () => {
    await open();
    const headers = { "content-type": "application/x-ndjson" };
    const body = '{"text":"a"}\n{"text":"b"}\n';
    const reply = await ask("/send", { method: "POST", headers, body });
    expect([reply.status, await reply.json()]).toMatchObject([200, { word: "a b" }]);
    expect(reply.headers.get("trailer-x-end")).toBe("tail");
    const failed = await ask("/send", { method: "POST", headers, body: '{"text":"fail"}' });
    expect([failed.status, await failed.json()]).toMatchObject([400, { code: 3 }]);
  });

  test("Connect and gRPC-Web are forwarded, too", async () => {
    await open();
    const path = "/test.v1.ThingService/Get";
    const json = { "content-type": "application/json" };
    const reply = await ask(path, { method: "POST", headers: json, body: '{"text":"fail"}' });
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { code: "invalid_argument", details: [{ type: "google.rpc.BadRequest" }] },
    ]);
    const headers = { "content-type": "application/grpc-web+proto" };
    const web = await ask(path, { method: "POST", headers, body: Buffer.alloc(5) });
    expect(await web.text()).toContain("x-end: tail");
  });
});

test("a server that cannot be reached is UNAVAILABLE", async () => {
  const target = createGrpcTransport({ baseUrl: "http://127.0.0.1:1" });
  const [, mount] = MOUNTS[1] ?? [];
  const ask = await mount?.({ services, target });
  const reply = await ask?.("/get/x");
  expect([reply?.status, await reply?.json()]).toMatchObject([503, { code: 14 }]);
});
