import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  GetPublicSettingsResponseSchema,
  PublicService,
  type WatchPublicSettingsResponse,
  WatchPublicSettingsResponseSchema,
} from "../../gen/mooring/v1/public_service_pb.js";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { enveloped } from "./raw/cuttable.ts";
import { END_STREAM, FRAME, framesOf, RawHttp2 } from "./raw/http2.ts";
import { dial, type Line } from "./raw/line.ts";
import { REFLECTION } from "./raw/reflection.ts";
import { type ServedRoutes, serveRoutes } from "./serve-routes.ts";

/** A connection whose client reads nothing; `leave` ends the stream in the way of its protocol. */
interface Reader {
  readonly line: Line;
  leave(): void;
}

type Open = (port: number) => Promise<Reader>;

const RPC = "/mooring.v1.PublicService/WatchPublicSettings";

function overHttp1(head: string, body: Buffer = Buffer.alloc(0)): Open {
  return async (port) => {
    const line = await dial(port);
    line.socket.write(`${head}\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`);
    line.socket.write(body);
    line.socket.pause();
    return { line, leave: () => void line.socket.destroy() };
  };
}

function overHttp2(headers: Record<string, string>, body: Buffer = Buffer.alloc(0)): Open {
  return async (port) => {
    const client = await RawHttp2.open(port);
    // The window of a stream is 65,535 bytes, and this client never enlarges it.
    client.headers(1, { ":scheme": "http", ":authority": "a", ...headers });
    client.data(1, body, true);
    return { line: client.line, leave: () => client.reset(1, 8) };
  };
}

const empty = enveloped(Buffer.alloc(0));
const post = (type: string): string => `POST ${RPC} HTTP/1.1\r\ncontent-type: application/${type}`;
const call = (type: string): Record<string, string> => ({
  ":method": "POST",
  ":path": RPC,
  "content-type": `application/${type}`,
});

const ways: readonly (readonly [string, Open])[] = [
  ["REST", overHttp1("GET /api/public/settings/watch HTTP/1.1")],
  ["REST over HTTP/2", overHttp2({ ":method": "GET", ":path": "/api/public/settings/watch" })],
  ["Connect", overHttp1(post("connect+proto"), empty)],
  ["Connect over HTTP/2", overHttp2(call("connect+proto"), empty)],
  ["gRPC-Web", overHttp1(post("grpc-web+proto"), empty)],
  ["gRPC-Web over HTTP/2", overHttp2(call("grpc-web+proto"), empty)],
  ["gRPC", overHttp2(call("grpc"), empty)],
];

/** Part of every stream is in the buffers of the kernel and Node, so messages are large. */
const SIZE = 256 * 1024;

const message = create(WatchPublicSettingsResponseSchema, {
  event: { case: "snapshot", value: { settings: { site_title: "x".repeat(SIZE) } } },
});

/** Streams in progress, and the number of messages requested from each. */
const running = new Map<object, number>();

async function* endless(): AsyncIterable<WatchPublicSettingsResponse> {
  const stream = {};
  running.set(stream, 0);
  try {
    for (;;) {
      running.set(stream, (running.get(stream) ?? 0) + 1);
      yield message;
    }
  } finally {
    running.delete(stream);
  }
}

/** Serves endless streams until the test ends. */
async function serve(slowReaders: SlowReaders): Promise<ServedRoutes> {
  running.clear();
  const served = await serveRoutes(
    (router) => router.service(PublicService, { watchPublicSettings: endless }),
    { slowReaders },
  );
  onTestFinished(() => served.close());
  return served;
}

const soon = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 });

describe.each(ways)("over %s", (_name, open) => {
  test("a stream waits for its reader, and ends when the reader disconnects", async () => {
    const slow = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 60_000 });
    const { port } = await serve(slow);
    const reader = await open(port);
    await soon(() => expect(slow.bytes).toBeGreaterThan(0));
    const [requested] = running.values();
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([...running.values()]).toEqual([requested]);
    reader.leave();
    await soon(() => expect(running.size).toBe(0));
    expect(slow.bytes).toBe(0);
    expect(slow.dropped).toBe(0);
  });

  test("with a short time limit a stream that is not read is dropped", async () => {
    const slow = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 50 });
    const { port } = await serve(slow);
    const { line } = await open(port);
    await soon(() => expect(slow.dropped).toBe(1));
    await soon(() => expect(running.size).toBe(0));
    expect(slow.bytes).toBe(0);
    line.socket.destroy();
  });

  test("the streams that were blocked first are dropped when too much waits in all", async () => {
    // Space for two blocked streams and not for three.
    const slow = new SlowReaders({ together: SIZE * 2.5, patienceMs: 60_000 });
    const { port } = await serve(slow);
    for (const readers of [1, 2]) {
      await open(port);
      await soon(() => expect(slow.bytes).toBeGreaterThanOrEqual(readers * SIZE));
    }
    expect(slow.dropped).toBe(0);
    await open(port);
    await soon(() => expect(slow.dropped).toBe(1));
    await soon(() => expect(running.size).toBe(2));
    expect(slow.bytes).toBeLessThanOrEqual(SIZE * 2.5);
  });
});

/** Settings of a connection: the windows of its streams begin at 0. */
const NO_WINDOW = Buffer.from("000006040000000000000400000000", "hex");

/** Allows a stream this number of further bytes; stream 0 is the connection. */
function widen(client: RawHttp2, stream: number, bytes: number): void {
  const frame = Buffer.alloc(13);
  frame.writeUIntBE(4, 0, 3);
  frame.writeUInt8(8, 3);
  frame.writeUInt32BE(stream, 5);
  frame.writeUInt32BE(bytes, 9);
  client.line.socket.write(frame);
}

const UNARY = "/mooring.v1.PublicService/GetPublicSettings";
const get = (path: string) => ({ ":method": "GET", ":path": path });

/** Replies that have ended or are complete: headers of the request, and its body. */
const ended: readonly (readonly [string, Record<string, string>, Buffer?])[] = [
  ["a stream of REST", get("/api/public/settings/watch")],
  ["a stream of Connect", call("connect+proto"), empty],
  ["a stream of gRPC-Web", call("grpc-web+proto"), empty],
  ["a stream of gRPC", call("grpc"), empty],
  ["a reply of REST", get("/api/public/settings")],
  ["a reply of Connect", { ...call("proto"), ":path": UNARY }],
  ["a reply of gRPC-Web", { ...call("grpc-web+proto"), ":path": UNARY }, empty],
  ["a reply of gRPC", { ...call("grpc"), ":path": UNARY }, empty],
];

/** Serves streams and replies of this size that end, until the test ends. */
async function serveEnded(slowReaders: SlowReaders, size = 1): Promise<ServedRoutes> {
  const settings = { site_title: "x".repeat(size) };
  const served = await serveRoutes(
    (router) =>
      router.service(PublicService, {
        getPublicSettings: () => create(GetPublicSettingsResponseSchema, { settings }),
        async *watchPublicSettings() {
          yield create(WatchPublicSettingsResponseSchema, {
            event: { case: "snapshot", value: { settings } },
          });
        },
      }),
    { slowReaders, silenceMs: 50 },
  );
  onTestFinished(() => served.close());
  return served;
}

const replies = ended.flatMap(([name, headers, body = Buffer.alloc(0)]) => [
  { name, headers, body, size: 1 },
  { name: `${name}, large`, headers, body, size: SIZE },
]);

test.each(replies)("over HTTP/2, $name is reset if it is not read", async (reply) => {
  const slow = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 50 });
  const { port } = await serveEnded(slow, reply.size);
  const client = await RawHttp2.open(port);
  client.line.socket.write(NO_WINDOW);
  client.headers(1, { ":scheme": "http", ":authority": "a", ...reply.headers });
  client.data(1, reply.body, true);
  await client.frame(({ kind, stream }) => kind === FRAME.reset && stream === 1);
  expect(slow.dropped).toBe(1);
});

test.each([
  ["one large piece", { ...call("grpc"), ":path": UNARY }, empty],
  ["many pieces", get("/api/public/settings"), Buffer.alloc(0)],
])("over HTTP/2, a reply of %s that is read slowly is complete", async (_, headers, body) => {
  const slow = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 1_000 });
  const { port } = await serveEnded(slow, SIZE);
  const client = await RawHttp2.open(port);
  const bits = setInterval(() => [0, 1].map((stream) => widen(client, stream, 2_048)), 10);
  onTestFinished(() => clearInterval(bits));
  client.headers(1, { ":scheme": "http", ":authority": "a", ...headers });
  client.data(1, body, true);
  await client.frame(
    ({ kind, flags, stream }) =>
      stream === 1 && (kind === FRAME.reset || (flags & END_STREAM) === END_STREAM),
  );
  const data = framesOf(client.line.received()).filter(({ kind }) => kind === FRAME.data);
  expect(Buffer.concat(data.map(({ payload }) => payload)).length).toBeGreaterThan(SIZE);
  expect(slow.dropped).toBe(0);
});

test.each(["grpc", "connect+proto", "grpc-web+proto"])(
  "a partial reflection request as %s times out",
  async (type) => {
    const slow = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 60_000 });
    const { port } = await serveEnded(slow);
    const client = await RawHttp2.open(port);
    const headers = { ...call(type), ":path": REFLECTION };
    client.headers(1, { ":scheme": "http", ":authority": "a", ...headers });
    client.data(1, Buffer.alloc(3));
    await client.frame(({ kind, stream }) => kind === FRAME.reset && stream === 1);
  },
);
