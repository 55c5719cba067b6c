import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { create, type Message } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineRpcs } from "../gateway/contract.ts";
import { bodiesOf, createHttp, echo, streaming, unary } from "../gateway/gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };

const [read, save, watch, say] = defineRpcs([
  { name: "Read", http: { get: "/read", responseBody: "word" }, rest, reads: true },
  { name: "Save", http: { post: "/save", body: "*", responseBody: "word" }, rest },
  {
    name: "Watch",
    http: { get: "/watch", responseBody: "word" },
    rest: { reply: "REPLY_EVENTS" },
    streams: "reply",
  },
  { name: "Say", http: { get: "/say", responseBody: "word" }, rest },
] as const);

if (!read || !save || !watch || !say) throw new Error("the test contract is incomplete");

const box = (word: string): Message =>
  create(read.output, { word } as object as Record<string, never>);

const shared = box("ä".repeat(1_000));

const stopped = Promise.withResolvers<void>();

const { handler, fastify } = await createHttp(
  {
    methods: [
      unary(read, () => shared),
      echo(save),
      echo(say),
      streaming(watch, async function* (_, call) {
        while (!call.signal.aborted) {
          yield box("x".repeat(10_000));
          await sleep(0);
        }
        stopped.resolve();
      }),
    ],
    bounds: bodiesOf(1_000),
  },
  ["https://a.example"],
);

const server = createServer((request, response) =>
  handler(request as unknown as IncomingMessage, response as unknown as ServerResponse),
);

let client: ClientHttp2Session;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterAll(async () => {
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
  await fastify.close();
});

interface Reply {
  readonly headers: IncomingHttpHeaders & IncomingHttpStatusHeader;
  readonly raw: Buffer;
}

async function send(headers: Record<string, string>, body?: string): Promise<Reply> {
  const stream = client.request(headers, { endStream: body === undefined });
  const { promise, resolve } = Promise.withResolvers<Reply["headers"]>();
  stream.on("response", resolve);
  if (body !== undefined) stream.end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { headers: await promise, raw: Buffer.concat(chunks) };
}

test("a read over HTTP/2 is served, plain and compressed", async () => {
  const plain = await send({ ":path": "/read", origin: "https://a.example" });
  expect(plain.headers[":status"]).toBe(200);
  expect(plain.headers.vary).toBe("Accept-Encoding, Origin");
  expect(plain.headers["access-control-allow-origin"]).toBe("https://a.example");
  expect(JSON.parse(plain.raw.toString())).toMatchObject({ data: "ä".repeat(1_000) });
  for (;;) {
    const { headers, raw } = await send({ ":path": "/read", "accept-encoding": "gzip" });
    if (headers["content-encoding"] !== "gzip") continue;
    expect(gunzipSync(raw)).toEqual(plain.raw);
    break;
  }
});

test("HEAD, an unknown method and a conditional read are answered over HTTP/2", async () => {
  const head = await send({ ":path": "/read", ":method": "HEAD" });
  expect(head.headers[":status"]).toBe(200);
  expect(head.raw.length).toBe(0);
  const wrong = await send({ ":path": "/read", ":method": "DELETE" });
  expect(wrong.headers[":status"]).toBe(405);
  expect(JSON.parse(wrong.raw.toString())).toMatchObject({ code: 405 });
});

test("a body without Content-Length is read", async () => {
  const post = { ":path": "/save", ":method": "POST" };
  expect((await send(post, '{"text":"a"}')).raw.toString()).toContain('{\\"text\\":\\"a\\"}');
  expect((await send(post)).raw.toString()).toContain('"data":"{}"');
  expect((await send(post, "{")).raw.toString()).toContain('"code":400');
  expect((await send(post, `"${"a".repeat(1_000)}"`)).headers[":status"]).toBe(413);
});

test("a query with unescaped characters is read as UTF-8", async () => {
  const replyTo = (text: string) => send({ ":path": Buffer.from(text).toString("latin1") });
  expect((await replyTo("/say?text=ü+%C3%BC+你")).raw.toString()).toContain("ü ü 你");
  const broken = await send({ ":path": "/say?text=\xfc" });
  expect(broken.raw.toString()).toContain('query parameter \\"text\\"');
});

test("events are streamed over HTTP/2 until the client disconnects", async () => {
  const stream = client.request({ ":path": "/watch" });
  let received = 0;
  for await (const chunk of stream) {
    received += (chunk as Buffer).length;
    if (received > 500_000) break;
  }
  stream.close();
  await stopped.promise;
});
