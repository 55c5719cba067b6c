import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { made, rpcsByName } from "./contract.ts";
import { countReads } from "./gateway-server.ts";
import { MOUNTS, type MountOptions } from "./mount.ts";

const desc = rpcsByName([
  { name: "Get", http: { get: "/get" }, rest: { etag: "version" }, reads: true },
  { name: "Word", http: { get: "/word", responseBody: "word" }, reads: true },
  { name: "Post", http: { post: "/post" } },
  { name: "Read", http: { get: "/read" }, streams: "reply", reads: true },
  { name: "Send", http: { post: "/send", body: "*" }, streams: "request" },
]);

/** Handlers that change one message and return it again, from 1 on. */
function counting(): MountOptions {
  const long = "a".repeat(2_000);
  const thing = (count: number) => made(desc("Get").input, { words: [String(count)] });
  const box = made(desc("Get").output, { names: Array.from({ length: 300 }, String) });
  let count = 0;
  const next = (): Message => {
    count += 1;
    // In the message, and in a message in it.
    Object.assign(box, { word: `${count} ${long}`, version: String(count), thing: thing(count) });
    (box as { names?: string[] }).names?.splice(0, 1, `first ${count}`);
    return box;
  };
  async function* three() {
    for (let turn = 0; turn < 3; turn += 1) yield next();
  }
  return {
    routes: (router: ConnectRouter) => {
      for (const name of ["Get", "Word", "Post", "Read", "Send"])
        router.rpc(desc(name), (name === "Read" ? three : next) as never);
    },
  };
}

const json = { "content-type": "application/json" };
const lines = { "content-type": "application/x-ndjson" };
const coded = { "accept-encoding": "gzip" };
const frame = (type: string) => ({ "content-type": `application/${type}` });
const CONNECT = "/test.v1.ThingService";

/** Name, path, request, and the counts in the replies to three requests. */
const CASES: readonly [string, string, RequestInit][] = [
  ["REST", "/get", {}],
  ["REST with a body field", "/word", {}],
  ["REST with compression", "/get", { headers: coded }],
  ["REST with an entity tag", "/get", { headers: { "if-none-match": '"0"' } }],
  ["a write", "/post", { method: "POST" }],
  ["a client stream", "/send", { method: "POST", headers: lines, body: "" }],
  ["lines", "/read", {}],
  ["an array", "/read", { headers: { accept: "application/json" } }],
  ["events", "/read", { headers: { accept: "text/event-stream" } }],
  ["Connect JSON", `${CONNECT}/Get`, { method: "POST", headers: json, body: "{}" }],
  ["Connect proto", `${CONNECT}/Get`, { method: "POST", headers: frame("proto"), body: "" }],
  [
    "a stream of Connect",
    `${CONNECT}/Read`,
    {
      method: "POST",
      headers: frame("connect+json"),
      body: new Uint8Array([0, 0, 0, 0, 2, 123, 125]),
    },
  ],
  [
    "gRPC-Web",
    `${CONNECT}/Get`,
    { method: "POST", headers: frame("grpc-web+proto"), body: new Uint8Array(5) },
  ],
];

describe.each(MOUNTS)("over %s", (_, mount) => {
  test.each(CASES)(
    "a message that a handler changes and returns again is sent as it is: %s",
    async (name, path, init) => {
      const ask = await mount(counting());
      const seen: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const reply = await ask(path, init);
        expect(reply.status).toBe(200);
        const bytes = Buffer.from(await new Response(decoded(reply)).arrayBuffer());
        seen.push(
          ...[...bytes.toString("latin1").matchAll(/(\d+) aaaaa/g)].map(([, at]) => at ?? ""),
        );
      }
      const isStream = path.includes("ead");
      expect([name, seen]).toEqual([
        name,
        Array.from({ length: isStream ? 9 : 3 }, (_one, at) => String(at + 1)),
      ]);
    },
  );

  test("messages that are declared immutable are encoded once", async () => {
    const message = made(desc("Word").output, { word: "a" });
    const { counted, reads } = countReads(message, "word");
    const routes = (router: ConnectRouter) => router.rpc(desc("Word"), (() => counted) as never);
    for (const [immutableReplies, isOnce] of [
      [undefined, false],
      [true, true],
      [({ name }: DescMethod) => name === "Word", true],
      [({ name }: DescMethod) => name === "Get", false],
    ] as const) {
      const ask = await mount(
        immutableReplies === undefined ? { routes } : { routes, immutableReplies },
      );
      await ask("/word");
      const once = reads();
      await ask("/word");
      expect(reads() === once).toBe(isOnce);
    }
  });
});

/** The body of a reply; `fetch` has decompressed it already, restHandler has not. */
function decoded(reply: Response): ReadableStream | null {
  const isHandler = reply.url === "";
  if (!isHandler || reply.headers.get("content-encoding") !== "gzip") return reply.body;
  return reply.body?.pipeThrough(new DecompressionStream("gzip")) ?? null;
}
