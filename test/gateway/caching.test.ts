import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { acceptedCodings } from "../../src/gateway/accept-encoding.ts";
import { defineRpc, defineRpcs, made, type Rpc } from "./contract.ts";
import {
  countReads,
  echo,
  echoed,
  type GatewayServer,
  gatewayOfTest,
  type Reply,
  unary,
} from "./gateway-server.ts";

const READ: Partial<Rpc> = {
  http: { get: "/read", responseBody: "labels" },
  rest: { reply: "REPLY_ENVELOPE", etag: "revision" },
  reads: true,
};

/** A read that returns the same message until `state.revision` changes, as services do. */
async function openRead(
  options: Parameters<typeof gatewayOfTest>[0] = {},
  size = 3_000,
): Promise<{ gateway: GatewayServer; state: { message: Message } }> {
  const desc = defineRpc(READ);
  const state = { message: revision(1n, size) };
  const method = unary(desc, () => state.message);
  return { gateway: await gatewayOfTest({ methods: [method], ...options }), state };
}

function revision(number: bigint, size = 3_000): Message {
  const labels = { text: "ä".repeat(size / 2) };
  return made(defineRpc(READ).output, { labels, revision: number });
}

/** The reply in a coding. */
async function sendCoded(gateway: GatewayServer, coding: string): Promise<Reply> {
  const reply = await gateway.send("/read", { headers: { "accept-encoding": coding } });
  expect(reply.headers["content-encoding"]).toBe(coding);
  return reply;
}

test("a read has its revision and Cache-Control", async () => {
  const { gateway } = await openRead({ cacheControl: (desc) => `public, ${desc.name}` });
  const reply = await gateway.send("/read");
  expect(reply.headers.etag).toBe('"1"');
  expect(reply.headers["cache-control"]).toBe("public, GetThing");
  expect(reply.headers.vary).toBe("Accept-Encoding");
});

test("a read is not stored by default", async () => {
  const { gateway } = await openRead();
  expect((await gateway.send("/read")).headers["cache-control"]).toBe("private, no-store");
});

test("replies of writing methods are not stored", async () => {
  const desc = defineRpc({ ...READ, reads: false, http: { post: "/write" } });
  const method = unary(desc, () => ({ revision: 7n }));
  const gateway = await gatewayOfTest({ methods: [method], cacheControl: () => "public" });
  const reply = await gateway.send("/write", {
    method: "POST",
    headers: { "if-none-match": '"7"' },
  });
  expect(reply.status).toBe(200);
  expect(reply.headers.etag).toBe('"7"');
  expect(reply.headers["cache-control"]).toBe("no-store");
});

test("a new state is sent immediately", async () => {
  const { gateway, state } = await openRead({ etagPrefix: () => "db1." });
  expect((await gateway.send("/read")).headers.etag).toBe('"db1.1"');
  state.message = revision(2n, 10);
  const reply = await gateway.send("/read", { headers: { "if-none-match": '"db1.1"' } });
  expect(reply.status).toBe(200);
  expect(reply.headers.etag).toBe('"db1.2"');
  expect(reply.json).toMatchObject({ data: { text: "äääää" } });
});

test.each(['"1"', 'W/"1"', '"1-gzip"', '"1-br"', '"0", "1"', '"x" ,W/"1-gzip","y"', "*"])(
  "304 is sent for If-None-Match: %s",
  async (tag) => {
    const { gateway } = await openRead({ cacheControl: () => "public, no-cache" });
    for (const method of ["GET", "HEAD"]) {
      const reply = await gateway.send("/read", { method, headers: { "if-none-match": tag } });
      expect(reply.status).toBe(304);
      expect(reply.raw.length).toBe(0);
      expect(reply.headers.etag).toMatch(/^"1(-gzip|-br)?"$/);
      expect(reply.headers["cache-control"]).toBe("public, no-cache");
      expect(reply.headers.vary).toBe("Accept-Encoding");
      expect(reply.headers["content-length"]).toBeUndefined();
    }
  },
);

test.each(['"2"', '"11"', "1", '"1', '"-1"', '"1-zip"', "", '""'])(
  "the whole reply is sent for If-None-Match: %s",
  async (tag) => {
    const { gateway } = await openRead();
    const reply = await gateway.send("/read", { headers: { "if-none-match": tag } });
    expect(reply.status).toBe(200);
  },
);

test("each coding has its own variant and strong tag", async () => {
  const { gateway } = await openRead();
  const plain = await gateway.send("/read");
  expect(plain.headers["content-encoding"]).toBeUndefined();
  const gzip = await sendCoded(gateway, "gzip");
  expect(gzip.headers.etag).toBe('"1-gzip"');
  expect(gunzipSync(gzip.raw)).toEqual(plain.raw);
  const br = await sendCoded(gateway, "br");
  expect(br.headers.etag).toBe('"1-br"');
  expect(brotliDecompressSync(br.raw)).toEqual(plain.raw);
  const best = await gateway.send("/read", { headers: { "accept-encoding": "gzip, deflate, br" } });
  expect(best.headers["content-encoding"]).toBe("br");
  for (const reply of [gzip, br, best]) {
    expect(reply.headers["content-length"]).toBe(String(reply.raw.length));
    expect(reply.headers.vary).toBe("Accept-Encoding");
  }
});

test("large variants are sent completely", async () => {
  const { gateway } = await openRead({}, 600_000);
  const plain = await gateway.send("/read");
  expect(gunzipSync((await sendCoded(gateway, "gzip")).raw)).toEqual(plain.raw);
});

test("short replies are not compressed", async () => {
  const { gateway } = await openRead({}, 100);
  const reply = await gateway.send("/read", { headers: { "accept-encoding": "gzip" } });
  expect(reply.headers["content-encoding"]).toBeUndefined();
  expect(reply.headers.vary).toBeUndefined();
});

test("a message is encoded once", async () => {
  const { counted, reads } = countReads(revision(1n), "labels");
  const gateway = await gatewayOfTest({ methods: [unary(defineRpc(READ), () => counted)] });
  await gateway.send("/read");
  const once = reads();
  await gateway.send("/read");
  await gateway.send("/read");
  expect(once).toBeGreaterThan(0);
  expect(reads()).toBe(once);
});

test("a long list is encoded once for all requests", async () => {
  const desc = defineRpc({ ...READ, http: { get: "/read", responseBody: "names" } });
  const names = Array.from({ length: 5_000 }, String);
  const message = made(desc.output, { names, revision: 3n });
  const { counted, reads } = countReads(message, "revision");
  const gateway = await gatewayOfTest({ methods: [unary(desc, () => counted)] });
  const replies = await Promise.all([1, 2, 3].map(() => gateway.send("/read")));
  expect(new Set(replies.map((reply) => reply.text)).size).toBe(1);
  expect(replies[0]?.headers.etag).toBe('"3"');
  const once = reads();
  expect((await gateway.send("/read")).text).toBe(replies[0]?.text);
  expect(reads()).toBe(once);
});

test("HEAD is answered as GET without the body", async () => {
  const { gateway } = await openRead();
  const get = await gateway.send("/read");
  const head = await gateway.send("/read", { method: "HEAD" });
  expect(head.raw.length).toBe(0);
  const { date: _, "x-request-id": __, ...headers } = get.headers;
  expect(head.headers).toMatchObject(headers);
});

test.each<[string | undefined, string[]]>([
  [undefined, []],
  ["gzip", ["gzip"]],
  ["GZIP;q=0.5", ["gzip"]],
  ["gzip, deflate, br, zstd", ["br", "gzip"]],
  ["gzip;q=1.0, br;q=0.5", ["gzip", "br"]],
  ["br;q=0, gzip", ["gzip"]],
  ["*", ["br", "gzip"]],
  ["*;q=0", []],
  ["gzip;q=0, *", ["br"]],
  ["identity", []],
  ["gzip;q=x", []],
  [";;,,", []],
])("Accept-Encoding %s is parsed as %o", (header, codings) => {
  expect(acceptedCodings(header ?? "", ["br", "gzip"])).toEqual(codings);
});

const CONDITIONAL: Rpc[] = [
  {
    name: "Numeric",
    http: { put: "/numeric", responseBody: "word" },
    rest: { reply: "REPLY_ENVELOPE", ifMatch: "expected" },
  },
  {
    name: "Textual",
    http: { put: "/textual", responseBody: "word" },
    rest: { reply: "REPLY_ENVELOPE", ifMatch: "seen" },
  },
];

test.each<[string, unknown]>([
  ['"db.42"', { expected: "42" }],
  ['"db.42-gzip"', { expected: "42" }],
  ['W/"db.42-br"', { expected: "42" }],
  ['"db.0"', { expected: "0" }],
  ["*", {}],
])("the if_match field is set from If-Match: %s", async (tag, expected) => {
  const gateway = await gatewayOfTest({
    methods: defineRpcs(CONDITIONAL).map(echo),
    etagPrefix: "db.",
  });
  const sent = { method: "PUT", headers: { "if-match": tag } };
  expect(echoed(await gateway.send("/numeric", sent))).toEqual(expected);
});

test.each([
  '"42"',
  '"other.42"',
  '"db.x"',
  '"db.-1"',
  '"db.99999999999999999999"',
  "42",
  '"',
  '""',
])("409 is sent for If-Match: %s without a known revision", async (tag) => {
  const gateway = await gatewayOfTest({
    methods: defineRpcs(CONDITIONAL).map(echo),
    etagPrefix: "db.",
  });
  const reply = await gateway.send("/numeric", { method: "PUT", headers: { "if-match": tag } });
  const message = expect.stringContaining("is not a revision of this database");
  expect(reply.json).toEqual({ code: 409, message, data: null });
});

test("a text field is set from a tag of another service unchanged", async () => {
  const gateway = await gatewayOfTest({
    methods: defineRpcs(CONDITIONAL).map(echo),
    etagPrefix: "db.",
  });
  const textual = (tag: string) =>
    gateway.send("/textual", { method: "PUT", headers: { "if-match": tag } });
  expect(echoed(await textual('"db.a"'))).toEqual({ seen: "a" });
  expect(echoed(await textual('"other.a"'))).toEqual({ seen: "other.a" });
  expect(echoed(await textual("a"))).toMatchObject({ code: 409 });
});

test("If-Match with several tags is refused", async () => {
  const gateway = await gatewayOfTest({ methods: defineRpcs(CONDITIONAL).map(echo) });
  const sent = { method: "PUT", headers: { "if-match": '"1", "2"' } };
  expect(echoed(await gateway.send("/numeric", sent))).toMatchObject({ code: 400 });
});

test("a textual state is encoded in a tag and decoded", async () => {
  const desc = defineRpc({ ...READ, rest: { reply: "REPLY_ENVELOPE", etag: "version" } });
  const version = 'v1 "ä" 100%';
  const read = await gatewayOfTest({ methods: [unary(desc, () => ({ version }))] });
  const { etag = "" } = (await read.send("/read")).headers;
  expect(etag).toMatch(/^"[\x21-\x7e]+"$/);
  const write = await gatewayOfTest({ methods: defineRpcs(CONDITIONAL).map(echo) });
  const sent = { method: "PUT", headers: { "if-match": etag } };
  expect(echoed(await write.send("/textual", sent))).toEqual({ seen: version });
});

test("the prefix is read only for replies with a tag", async () => {
  const etagPrefix = (): string => {
    throw new ConnectError("the database is not open yet", Code.Unavailable);
  };
  const rest = { reply: "REPLY_ENVELOPE" };
  const [untagged, tagged] = defineRpcs([
    { name: "Plain", http: { get: "/plain" }, rest },
    { name: "Read", ...READ },
  ]);
  if (!untagged || !tagged) throw new Error("the test contract is incomplete");
  const methods = [unary(untagged, () => ({})), unary(tagged, () => revision(1n))];
  const gateway = await gatewayOfTest({ methods, etagPrefix });
  const headers = { "if-match": "*", "if-none-match": "*" };
  expect((await gateway.send("/plain", { headers })).json).toMatchObject({ code: 200 });
  const message = "the database is not open yet";
  expect((await gateway.send("/read")).json).toEqual({ code: 503, message, data: null });
});

test("an empty textual state has no tag", async () => {
  const desc = defineRpc({ ...READ, rest: { etag: "version" } });
  const gateway = await gatewayOfTest({ methods: [unary(desc, () => ({}))] });
  expect((await gateway.send("/read")).headers.etag).toBeUndefined();
});
