import { connect } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import {
  bodiesOf,
  echo,
  echoed,
  gatewayOfTest,
  type Sent,
  startGateway,
} from "./gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };
const responseBody = "word";

const RPCS: Rpc[] = [
  { name: "Whole", http: { post: "/whole", body: "*", responseBody }, rest },
  { name: "List", http: { post: "/list", body: "parts", responseBody }, rest },
  { name: "Map", http: { post: "/map", body: "labels", responseBody }, rest },
  { name: "Scalar", http: { post: "/scalar", body: "text", responseBody }, rest },
  { name: "Message", http: { post: "/message", body: "part", responseBody }, rest },
  { name: "None", http: { post: "/none", responseBody }, rest },
  { name: "Path", http: { post: "/path/{text}", body: "*", responseBody }, rest },
  { name: "Get", http: { get: "/get", responseBody }, rest },
];

const methods = defineRpcs(RPCS).map(echo);
const gateway = startedForAll(() => startGateway({ methods, bounds: bodiesOf(4_096) }));

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  gateway.send(path, { method: "POST", body, headers });

test.each<[string, string, unknown, unknown]>([
  ["an object", "/whole", { text: "a", small: 1 }, { text: "a", small: 1 }],
  ["JSON names", "/whole", { partName: "a" }, { part_name: "a" }],
  ["an integer as a string", "/whole", { small: "7", count: "8" }, { small: 7, count: 8 }],
  ["an integer written with a fraction of zero", "/whole", '{"small":7.0}', { small: 7 }],
  [
    "an int64 as a string",
    "/whole",
    { big: "9223372036854775807" },
    { big: "9223372036854775807" },
  ],
  ["an int64 as a safe number", "/whole", { big: 7 }, { big: "7" }],
  ["a double as a string", "/whole", { ratio: "1.5" }, { ratio: 1.5 }],
  ["an enum by number", "/whole", { color: 1 }, { color: "COLOR_RED" }],
  ["a time", "/whole", { at: "2026-01-31T08:00:00Z" }, { at: "2026-01-31T08:00:00Z" }],
  ["null as absent", "/whole", { text: null, parts: null, part: null, labels: null }, {}],
  ["unknown members by ignoring them", "/whole", { nope: { deep: [1] }, text: "a" }, { text: "a" }],
  ["the last of two equal members", "/whole", '{"text":"a","text":"b"}', { text: "b" }],
  ["__proto__ by ignoring it", "/whole", '{"__proto__":{"text":"x"},"small":1}', { small: 1 }],
  [
    "nested messages",
    "/whole",
    { part: { part: { name: "a" } } },
    { part: { part: { name: "a" } } },
  ],
  ["a map with numbers as keys", "/whole", { ranks: { "-1": true } }, { ranks: { "-1": true } }],
  [
    "an array of messages",
    "/list",
    [{ name: "a" }, { size: 1 }],
    { parts: [{ name: "a" }, { size: "1" }] },
  ],
  ["an empty array", "/list", [], {}],
  ["a map", "/map", { a: "b" }, { labels: { a: "b" } }],
  [
    "a map with the key constructor",
    "/map",
    { constructor: "b" },
    { labels: { constructor: "b" } },
  ],
  ["a string", "/scalar", '"a"', { text: "a" }],
  ["a message", "/message", { name: "a" }, { part: { name: "a" } }],
  ["null as an absent body", "/list", "null", {}],
  ["null as an absent body of a whole request", "/whole", "null", {}],
  ["an empty body", "/whole", "", {}],
  ["an empty body for an array", "/list", "", {}],
  ["spaces around the JSON", "/scalar", ' \r\n\t"a" ', { text: "a" }],
  ["a byte order mark", "/scalar", '\ufeff"a"', { text: "a" }],
  ["escapes", "/scalar", '"\\u4f60\\ud83d\\ude00"', { text: "你😀" }],
  ["the path over the body", "/path/a", { text: "b", small: 1 }, { text: "a", small: 1 }],
])("the body may have %s", async (_, path, body, expected) => {
  expect(echoed(await post(path, body))).toEqual(expected);
});

test.each<[string, unknown, string]>([
  ["/whole", [], "body: the value: expected an object, got an array"],
  ["/whole", '"a"', "body: the value: expected an object, got a string"],
  ["/list", {}, "body: the value: expected an array, got an object"],
  ["/list", [{ name: 1 }], "body: [0].name: expected a string, got a number"],
  ["/list", [{}, { name: true }], "body: [1].name: expected a string, got true or false"],
  ["/list", [null], "body: [0]: expected an object, got null"],
  ["/list", [[]], "body: [0]: expected an object, got an array"],
  ["/whole", { part: { part: { size: {} } } }, "body: part.part.size: expected a whole"],
  ["/whole", { words: ["a", 1] }, "body: words[1]: expected a string"],
  ["/map", { "a b": 1 }, 'body: ["a b"]: expected a string, got a number'],
  ["/whole", { ranks: { x: true } }, 'ranks["x"]: expected a whole number'],
  ["/whole", { yes: "true" }, "yes: expected true or false, got a string"],
  ["/whole", { small: "a" }, "got a string that doesn't fit"],
  ["/whole", { count: "" }, "count: expected a whole number from 0 to 4294967295"],
  ["/whole", { small: 1.5 }, "small: expected a whole number"],
  ["/whole", { count: -1 }, "got a number that doesn't fit"],
  ["/whole", '{"big":9007199254740993}', "big: expected a whole number"],
  ["/whole", '{"ratio":1e999}', "ratio: expected a number"],
  ["/whole", { color: "BLUE" }, "color: expected one of COLOR_UNSPECIFIED"],
  ["/whole", { raw: "%" }, "raw: expected bytes in base64"],
  ["/whole", { at: "today" }, "at: expected the JSON form of google.protobuf.Timestamp"],
  ["/whole", '{"text":"\\ud800"}', "the body has an unpaired surrogate (line 1, column 10)"],
  ["/whole", { part_name: "a", partName: "b" }, "can't be given together"],
  ["/whole", { left: "a", right: 1 }, "right: can't be given together with left"],
  ["/whole", '{"text":"a"', "body is not JSON: line 1, column 12: it ends too early"],
  ["/whole", '{"text":"a",\n}', 'line 2, column 1: unexpected "}"'],
  ["/whole", "text=a", 'line 1, column 2: unexpected "e"'],
  ["/list", "[]]", 'line 1, column 3: unexpected "]"'],
  ["/whole", "{'text':1}", `line 1, column 2: unexpected "'"`],
  ["/scalar", '"a\nb"', 'line 1, column 3: unexpected "\\n"'],
  ["/scalar", '"\\x"', 'line 1, column 3: unexpected "x"'],
  ["/whole", '{"small":01}', 'line 1, column 11: unexpected "1"'],
  ["/whole", '{"small":1.}', 'line 1, column 12: unexpected "}"'],
  ["/whole", "  ", "line 1, column 3: it ends too early"],
  ["/whole", "[".repeat(65), "nested deeper than 64 levels"],
  ["/whole", `{"x":${'{"x":'.repeat(70)}1`, "nested deeper than 64"],
  ["/scalar", Buffer.from([0x22, 0xff, 0x22]), "the body is not UTF-8"],
])("400 is sent for the body of %s: %j", async (path, body, message) => {
  const reply = await post(path, body);
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ code: 400, message: expect.stringContaining(message), data: null });
});

test("an error message has no value of the body", async () => {
  const reply = await post("/whole", { small: "very-secret", color: "very-secret" });
  expect(reply.text).not.toContain("very-secret");
});

test("the number of values is limited", async () => {
  const one = await gatewayOfTest({ methods });
  const numbers = (count: number): string => `{"numbers":[${"1,".repeat(count - 1)}1]}`;
  const sent = (count: number) => ({ method: "POST", body: numbers(count) });
  expect((await one.send("/whole", sent(99_998))).json).toMatchObject({ code: 200 });
  const message = "the body holds more than 100000 values";
  expect((await one.send("/whole", sent(100_001))).json).toMatchObject({ code: 400, message });
});

test("64 levels are accepted, also with brackets in strings", async () => {
  const deep = `{"nope":${"[".repeat(63)}${"]".repeat(63)},"text":"[[\\"[["}`;
  expect(echoed(await post("/whole", deep))).toEqual({ text: '[["[[' });
});

test.each([
  undefined,
  "application/json",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  "Application/JSON ; x=y",
  "application/vnd.acme.v1+json",
  "Application/Merge-Patch+JSON",
])("a body with Content-Type %s is accepted", async (type) => {
  const headers = type === undefined ? {} : { "content-type": type };
  expect(echoed(await post("/scalar", '"a"', headers))).toEqual({ text: "a" });
});

test.each([
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonp",
  "application/jsonx",
  "application/xml",
  "text/json",
])("a body with Content-Type %s is refused with 415", async (type) => {
  const reply = await post("/scalar", '"a"', { "content-type": type });
  expect(reply.status).toBe(415);
  expect(reply.json).toMatchObject({ code: 415, data: null });
});

test.each([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
] as const)("a body that is compressed with %s is decompressed", async (coding, compress) => {
  const headers = { "content-encoding": coding };
  expect(echoed(await post("/scalar", compress('"a"'), headers))).toEqual({ text: "a" });
  expect(echoed(await post("/scalar", "not compressed", headers))).toMatchObject({ code: 400 });
  const bomb = await post("/scalar", compress(`"${"a".repeat(2 ** 21)}"`), headers);
  expect(bomb.status).toBe(413);
});

test("a body with an unknown compression is refused with 415", async () => {
  const reply = await post("/scalar", '"a"', { "content-encoding": "compress" });
  expect(reply.status).toBe(415);
  expect(reply.headers["accept-encoding"]).toBe("br,gzip");
  expect(echoed(await post("/scalar", '"a"', { "content-encoding": "identity" }))).toEqual({
    text: "a",
  });
});

test.each<[string, Sent]>([
  ["no type", {}],
  ["the JSON type", { headers: { "content-type": "application/json" } }],
  ["another type", { headers: { "content-type": "text/plain" } }],
  ["no length", { headers: { "transfer-encoding": "chunked" } }],
])("an empty body with %s is accepted as absent", async (_, sent) => {
  for (const path of ["/whole", "/list", "/none"]) {
    expect(echoed(await gateway.send(path, { ...sent, method: "POST" }))).toEqual({});
  }
});

test("a body is ignored if the rule has none", async () => {
  for (const type of ["application/json", "text/plain", "x/y"]) {
    const headers = { "content-type": type };
    expect(echoed(await post("/none?text=a", "{nope", headers))).toEqual({ text: "a" });
    expect(echoed(await gateway.send("/get?text=a", { body: "{nope", headers }))).toEqual({
      text: "a",
    });
  }
});

test("a body of exactly the limit is accepted, and one byte more is refused with 413", async () => {
  const text = "a".repeat(4_094);
  expect(echoed(await post("/scalar", `"${text}"`))).toEqual({ text });
  for (const path of ["/scalar", "/none"]) {
    const reply = await post(path, `"${text}a"`);
    expect(reply.status).toBe(413);
    expect(reply.json).toEqual({
      code: 413,
      message: "the request is larger than 4096 bytes",
      data: null,
    });
  }
});

test("413 is sent while a chunked body is still being sent, and an endless body is aborted", async () => {
  const socket = connect(gateway.port, "127.0.0.1");
  socket.on("error", () => {});
  const chunk = `${(1_024).toString(16)}\r\n${"a".repeat(1_024)}\r\n`;
  socket.write("POST /whole HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const more = (): void => {
    if (!socket.destroyed) socket.write(chunk, () => setImmediate(more));
  };
  more();
  const first = await new Promise<string>((resolve) =>
    socket.once("data", (data) => resolve(`${data}`)),
  );
  expect(first).toContain("HTTP/1.1 413 ");
  await new Promise((resolve) => socket.once("close", resolve));
});

test("a client that disconnects within its body does no harm", async () => {
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write("POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.destroy();
  expect(echoed(await post("/scalar", '"a"'))).toEqual({ text: "a" });
});

test("the connection is kept for the next request after a refused body", async () => {
  const socket = connect(gateway.port, "127.0.0.1");
  const body = `"${"a".repeat(5_000)}"`;
  socket.write(`POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  socket.write("GET /get?text=a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  let received = "";
  for await (const data of socket) received += String(data);
  expect(received).toMatch(/^HTTP\/1\.1 413 [\s\S]+HTTP\/1\.1 200 OK/);
});
