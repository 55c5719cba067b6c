import { connect } from "node:net";
import { type Message, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { Call } from "../../src/gateway/call.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { defineRpc, made, type Rpc } from "./contract.ts";
import { countReads, type GatewayServer, gatewayOfTest, streaming } from "./gateway-server.ts";

const RPC: Partial<Rpc> = {
  http: { get: "/watch", responseBody: "word" },
  rest: { reply: "REPLY_EVENTS", etag: "revision" },
  streams: "reply",
};

type Watch = (request: Message, call: Call) => AsyncIterable<Message>;

const open = (
  watch: Watch,
  options: Parameters<typeof gatewayOfTest>[0] = {},
  rpc: Partial<Rpc> = RPC,
) => gatewayOfTest({ methods: [streaming(defineRpc(rpc), watch)], ...options });

const box = (revision: number, word: string) =>
  made(defineRpc(RPC).output, { revision: BigInt(revision), word });

async function* endlessly(call: Call): AsyncGenerator<Message> {
  if (call.signal.aborted) return;
  await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
}

/** Reads a stream until its text contains a given one, then disconnects. */
async function readUntil(
  gateway: GatewayServer,
  wanted: string,
): Promise<{ response: Response; text: string }> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/watch`);
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(wanted)) break;
  }
  return { response, text };
}

test("each message is an event with its state as id", async () => {
  const gateway = await open(async function* () {
    yield box(1, "a");
    yield box(2, "b\n<c>");
  });
  const reply = await gateway.send("/watch");
  expect(reply.status).toBe(200);
  expect(reply.headers["content-type"]).toBe("text/event-stream");
  expect(reply.headers["cache-control"]).toBe("no-store");
  expect(reply.headers["x-request-id"]).toMatch(/^id-/);
  expect(reply.text).toBe('id: 1\ndata: "a"\n\nid: 2\ndata: "b\\n\\u003cc\\u003e"\n\n');
});

test("the prefix precedes the id, and without response_body the whole message is sent", async () => {
  const watch = async function* (): AsyncGenerator<Message> {
    yield box(1, "a");
  };
  const gateway = await open(watch, { etagPrefix: "db." }, { ...RPC, http: { get: "/watch" } });
  const { text } = await gateway.send("/watch");
  expect(text).toMatch(/^id: db\.1\ndata: \{.*"word":"a","revision":"1".*\}\n\n$/);
});

test("a failure before the first event is answered with an ordinary envelope", async () => {
  // biome-ignore lint/correctness/useYield: it fails before it would
  const gateway = await open(async function* () {
    throw new ConnectError("send the token", Code.Unauthenticated);
  });
  const reply = await gateway.send("/watch");
  expect(reply.status).toBe(401);
  expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(reply.json).toEqual({ code: 401, message: "send the token", data: null });
});

test("a later failure ends the stream with an error event, unknown errors masked", async () => {
  const reported: unknown[] = [];
  const causes = [new ConnectError("too slow", Code.ResourceExhausted), new Error("secret")];
  const gateway = await open(
    async function* () {
      yield box(1, "a");
      throw causes.shift();
    },
    { report: (error) => reported.push(error) },
  );
  const event = (json: string): string => `id: 1\ndata: "a"\n\nevent: error\ndata: ${json}\n\n`;
  const slow = '{"code":429,"message":"too slow","data":null}';
  expect((await gateway.send("/watch")).text).toBe(event(slow));
  const masked = '{"code":500,"message":"internal error","data":null}';
  expect((await gateway.send("/watch")).text).toBe(event(masked));
  expect(reported).toEqual([new Error("secret")]);
});

test("a silent stream is opened after a delay and kept alive with comments", async () => {
  const gateway = await open((_, call) => endlessly(call), {
    streams: { patience: 5, heartbeat: 5 },
  });
  const { response, text } = await readUntil(gateway, ":\n\n:\n\n");
  expect(response.status).toBe(200);
  expect(text).toMatch(/^(:\n\n)+$/);
});

test("a message is encoded once for all readers", async () => {
  const { counted, reads } = countReads(box(1, "a"), "word");
  const gateway = await open(async function* () {
    yield counted;
  });
  await gateway.send("/watch");
  const once = reads();
  await Promise.all([gateway.send("/watch"), gateway.send("/watch")]);
  expect(reads()).toBe(once);
});

test("the stream waits for a slow reader, and disconnects a stalled one", async () => {
  let sent = 0;
  const ended = Promise.withResolvers<void>();
  const message = box(1, "x".repeat(100_000));
  const gateway = await open(
    async function* (_, call) {
      try {
        while (!call.signal.aborted) {
          sent++;
          yield message;
        }
      } finally {
        ended.resolve();
      }
    },
    { slowReaders: new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 40 }) },
  );
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  await ended.promise;
  expect(sent).toBeLessThan(1_000);
  socket.destroy();
});

test("HEAD is answered without starting a stream", async () => {
  let started = false;
  const gateway = await open((_, call) => {
    started = true;
    return endlessly(call);
  });
  const reply = await gateway.send("/watch", { method: "HEAD" });
  expect(reply.status).toBe(200);
  expect(reply.headers["content-type"]).toBe("text/event-stream");
  expect(started).toBe(false);
});

test("a stream resumes after the event in Last-Event-ID", async () => {
  const rest = { reply: "REPLY_EVENTS", etag: "revision", lastEventId: "expected" };
  const rpc = { ...RPC, rest };
  const { input } = defineRpc(rpc);
  const watch = async function* (request: Message): AsyncGenerator<Message> {
    yield box(1, JSON.stringify(toJson(input, request)));
  };
  const gateway = await open(watch, { etagPrefix: "db." }, rpc);
  const data = async (headers: Record<string, string>, path = "/watch"): Promise<unknown> => {
    const { text, json } = await gateway.send(path, { headers });
    return json ?? JSON.parse(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? ""));
  };
  expect(await data({})).toEqual({});
  expect(await data({ "last-event-id": "" })).toEqual({});
  expect(await data({ "last-event-id": "db.41" })).toEqual({ expected: "41" });
  expect(await data({ "last-event-id": "db.41" }, "/watch?expected=7")).toEqual({ expected: "41" });
  expect(await data({}, "/watch?expected=7")).toEqual({ expected: "7" });
  const message = expect.stringContaining("is not a revision of this database");
  expect(await data({ "last-event-id": "other.41" })).toEqual({ code: 400, message, data: null });
});
