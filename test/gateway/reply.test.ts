import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { Call } from "../../src/gateway/call.ts";
import { ENVELOPE_CODE } from "../../src/gateway/failure.ts";
import { startedForAll } from "../started.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { bodiesOf, type Fields, gatewayOfTest, startGateway, unary } from "./gateway-server.ts";

const envelope = { reply: "REPLY_ENVELOPE" };

const RPCS: Rpc[] = [
  { name: "All", http: { get: "/all" }, rest: envelope },
  { name: "Names", http: { get: "/names", responseBody: "names" }, rest: envelope },
  { name: "Labels", http: { get: "/labels", responseBody: "labels" }, rest: envelope },
  { name: "Word", http: { get: "/word", responseBody: "word" }, rest: envelope },
  { name: "Thing", http: { get: "/thing", responseBody: "thing" }, rest: envelope },
  { name: "Null", http: { post: "/null" }, rest: { reply: "REPLY_ENVELOPE_NULL" } },
  { name: "Text", http: { get: "/text", responseBody: "word" }, rest: { reply: "REPLY_TEXT" } },
  { name: "Noticed", http: { post: "/noticed" }, rest: { ...envelope, notice: "word" } },
  {
    name: "NoticedNull",
    http: { post: "/noticed/null" },
    rest: { reply: "REPLY_ENVELOPE_NULL", notice: "word" },
  },
  { name: "Bare", http: { get: "/bare" } },
  { name: "BareNames", http: { get: "/bare/names", responseBody: "names" } },
];

let answer: (call: Call) => Fields | Promise<Fields>;
const reported: unknown[] = [];
const methods = defineRpcs(RPCS).map((desc) => unary(desc, (_, call) => answer(call)));
const report = (error: unknown): void => void reported.push(error);
const gateway = startedForAll(() => startGateway({ methods, report }));
const real = startedForAll(() => startGateway({ methods, report, httpStatus: "code" }));

beforeEach(() => {
  reported.length = 0;
});

const success = (data: string): string => `{"code":200,"message":"success","data":${data}}`;

test.each<[string, Fields, string]>([
  ["/names", { names: ["a", "b"] }, success('["a","b"]')],
  ["/names", {}, success("[]")],
  ["/labels", { labels: { b: "1", a: "2" } }, success('{"b":"1","a":"2"}')],
  ["/labels", {}, success("{}")],
  ["/word", { word: "a" }, success('"a"')],
  ["/word", {}, success('""')],
  ["/word", { word: "你😀" }, success('"你😀"')],
  ["/thing", {}, success("null")],
  ["/null", { word: "a" }, success("null")],
  ["/bare", {}, '{"names":[],"labels":{},"word":"","revision":"0","version":"","yes":false}'],
  ["/bare/names", { names: ["a"] }, '["a"]'],
  [
    "/word",
    { word: "</script>&\u2028\u2029" },
    success('"\\u003c/script\\u003e\\u0026\\u2028\\u2029"'),
  ],
])("%s sends %o as %s", async (path, fields, text) => {
  answer = () => fields;
  const reply = await gateway.send(path, { method: path === "/null" ? "POST" : "GET" });
  expect(reply.text).toBe(text);
  expect(reply.status).toBe(200);
  expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(reply.headers["content-length"]).toBe(String(reply.raw.length));
});

test.each(["envelope", "code"])(
  "a notice is the message of an envelope with the code 207 (status: %s)",
  async (statusIs) => {
    const to = statusIs === "code" ? real : gateway;
    answer = () => ({ word: 'not "a"' });
    for (const path of ["/noticed", "/noticed/null"]) {
      const { json, status } = await to.send(path, { method: "POST" });
      expect(json).toMatchObject({ code: 207, message: 'not "a"' });
      expect(status).toBe(statusIs === "code" ? 207 : 200);
    }
    answer = () => ({ names: ["a"] });
    const { json } = await to.send("/noticed", { method: "POST" });
    expect(json).toMatchObject({ code: 200, message: "success", data: { names: ["a"] } });
  },
);

test("members have their proto names, and empty ones are written", async () => {
  answer = () => ({ thing: { partName: "a" } });
  const { data } = (await gateway.send("/thing")).json as { data: Record<string, unknown> };
  expect(data).toMatchObject({ part_name: "a", small: 0, numbers: [], labels: {} });
});

test("REPLY_TEXT is sent as plain text", async () => {
  answer = () => ({ word: "pöng" });
  const reply = await gateway.send("/text");
  expect(reply.text).toBe("pöng");
  expect(reply.headers["content-type"]).toBe("text/plain; charset=utf-8");
});

test.each([1_000, 4_000, 4_096, 5_000, 100_000])(
  "%i characters outside ASCII are sent completely",
  async (size) => {
    const word = "é你".repeat(size);
    answer = () => ({ word });
    const reply = await gateway.send("/word");
    expect(reply.json).toEqual({ code: 200, message: "success", data: word });
    expect(reply.headers["content-length"]).toBe(String(reply.raw.length));
  },
);

test.each([100, 101, 1_000, 1_001])(
  "lists and maps of %i elements are sent completely",
  async (count) => {
    const names = Array.from({ length: count }, (_, index) => `<${index}>`);
    const labels = Object.fromEntries(names.map((name) => [name, `é ${name}`]));
    answer = () => ({ names, labels });
    const list = await gateway.send("/names");
    expect(list.json).toEqual({ code: 200, message: "success", data: names });
    expect(list.text).not.toContain("<");
    const map = await gateway.send("/labels");
    expect(map.json).toEqual({ code: 200, message: "success", data: labels });
    expect((await gateway.send("/bare/names")).json).toEqual(names);
  },
);

test("every reply has the request id", async () => {
  answer = () => ({});
  expect((await gateway.send("/word")).headers["x-request-id"]).toMatch(/^id-\d+$/);
  expect((await gateway.send("/nope")).headers["x-request-id"]).toMatch(/^id-\d+$/);
  expect((await gateway.send("/word", { method: "PUT" })).headers["x-request-id"]).toMatch(/^id-/);
  answer = (call) => ({ word: call.requestId });
  const reply = await gateway.send("/word");
  expect(reply.json).toMatchObject({ data: reply.headers["x-request-id"] });
});

test("the rpc receives its gateway, headers and peer", async () => {
  answer = (call) => ({ word: [call.transport, call.header("authorization"), call.peer].join() });
  const reply = await gateway.send("/word", { headers: { Authorization: "abc" } });
  expect(reply.json).toMatchObject({ data: "rest,abc,127.0.0.1" });
});

const MASKED = [Code.Canceled, Code.Unknown, Code.Internal, Code.DataLoss];

test.each(Object.entries(ENVELOPE_CODE))(
  "the canonical code %s is answered with %i",
  async (code, want) => {
    const masked = MASKED.includes(Number(code));
    answer = () => {
      throw new ConnectError("what went wrong", Number(code));
    };
    const body = { code: want, message: masked ? "internal error" : "what went wrong", data: null };
    for (const [one, status] of [
      [gateway, 200],
      [real, want],
    ] as const) {
      const reply = await one.send("/word");
      expect(reply.json).toEqual(body);
      expect(reply.text.startsWith('{"code":')).toBe(true);
      expect(reply.status).toBe(status);
      expect(reply.headers["cache-control"]).toBe("no-store");
      expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
    }
    expect(reported).toEqual([]);
  },
);

test.each([
  ["/text", { code: 404, message: "no such thing", data: null }],
  ["/bare", { code: 5, message: "no such thing" }],
  ["/bare/names", { code: 5, message: "no such thing" }],
])(
  "errors of %s have their real status, without an envelope as google.rpc.Status",
  async (path, body) => {
    answer = () => {
      throw new ConnectError("no such thing", Code.NotFound);
    };
    const reply = await gateway.send(path);
    expect(reply.status).toBe(404);
    expect(reply.json).toEqual(body);
  },
);

test.each<[string, unknown]>([
  ["an Error", new TypeError("secret at /home/x.ts")],
  ["a text", "secret"],
  ["nothing", undefined],
  ["an object", { code: 5, message: "secret" }],
])("%s is masked and reported once", async (_, thrown) => {
  answer = () => Promise.reject(thrown);
  const reply = await gateway.send("/word");
  expect(reply.text).toBe('{"code":500,"message":"internal error","data":null}');
  const error = thrown instanceof Error ? thrown : new Error("not an error", { cause: thrown });
  expect(reported).toEqual([error]);
});

test.each<[string, Fields]>([
  ["/thing", { thing: { at: { seconds: 10n ** 15n } } }],
  ["/names", { names: Array.from({ length: 1_000 }, (_, index) => index) }],
])("a reply that cannot be encoded is masked, also a long one: %s", async (path, fields) => {
  answer = () => fields;
  const masked = { code: 500, message: "internal error" };
  expect((await gateway.send(path)).json).toMatchObject(masked);
  expect(reported).toHaveLength(1);
});

test("field violations are in data", async () => {
  const fieldViolations = [
    { field: "settings[0].value", description: "must be a number" },
    { field: "settings[1].key", description: "is <empty>" },
  ];
  answer = () => {
    const details = [{ desc: BadRequestSchema, value: { fieldViolations } }];
    throw new ConnectError("2 values are wrong", Code.InvalidArgument, undefined, details);
  };
  const reply = await gateway.send("/word");
  expect(reply.json).toEqual({
    code: 400,
    message: "2 values are wrong",
    data: { violations: fieldViolations },
  });
  expect(reply.text).toContain("\\u003cempty\\u003e");
});

test("violations of a remote error are decoded", async () => {
  answer = () => {
    const fieldViolations = [{ field: "a", description: "b" }];
    const error = new ConnectError("x", Code.InvalidArgument);
    error.details = [
      { desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) },
    ];
    throw error;
  };
  expect((await gateway.send("/word")).json).toMatchObject({
    data: { violations: [{ field: "a", description: "b" }] },
  });
});

test("an error has the headers of its metadata and of its handler, except those of the message", async () => {
  answer = (call) => {
    call.responseHeader.set("x-handler", "c");
    call.responseHeader.append("set-cookie", "one=1");
    call.responseHeader.append("set-cookie", "two=2");
    throw new ConnectError("slow down", Code.ResourceExhausted, {
      "retry-after": "7",
      "x-a": "b",
      "content-length": "1",
      "content-encoding": "gzip",
      "content-type": "text/html",
    });
  };
  const reply = await gateway.send("/word");
  expect(reply.json).toMatchObject({ code: 429, message: "slow down" });
  expect(reply.headers).toMatchObject({
    "retry-after": "7",
    "x-a": "b",
    "x-handler": "c",
    "set-cookie": ["one=1", "two=2"],
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  expect(reply.headers["content-encoding"]).toBeUndefined();
});

test.each([
  ["Bearer", {}],
  ["that of the error", { "www-authenticate": "that of the error" }],
])("the scheme of a 401 is %s", async (scheme, metadata) => {
  answer = () => {
    throw new ConnectError("send the token", Code.Unauthenticated, metadata);
  };
  const reply = await real.send("/word");
  expect([reply.status, reply.headers["www-authenticate"]]).toEqual([401, scheme]);
});

test("the signal is aborted after the reply was sent, as in Connect", async () => {
  const signals: AbortSignal[] = [];
  answer = (call) => {
    signals.push(call.signal);
    expect(call.signal.aborted).toBe(false);
    return {};
  };
  await gateway.send("/word");
  await gateway.send("/word");
  expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
});

test("an error of admit precedes the gateway's own errors", async () => {
  const rpcs: Rpc[] = [
    { name: "Save", http: { post: "/save", body: "*" }, rest: envelope },
    { name: "Get", http: { get: "/get" }, rest: { ...envelope, requireQuery: ["text"] } },
  ];
  const one = await gatewayOfTest({
    methods: defineRpcs(rpcs).map((desc) => unary(desc, () => ({}))),
    bounds: bodiesOf(10),
    admit: (call) => {
      if (call.header("authorization") === "right") return;
      throw new ConnectError(`${call.method.name}: send a token`, Code.Unauthenticated);
    },
  });
  const refused = [
    await one.send("/save", { method: "POST", body: "{" }),
    await one.send("/save", { method: "POST", body: "{}", headers: { "content-type": "x" } }),
    await one.send("/save", { method: "POST", body: "{          }" }),
    await one.send("/get"),
  ];
  expect(refused.map((reply) => reply.json)).toEqual([
    { code: 401, message: "Save: send a token", data: null },
    { code: 401, message: "Save: send a token", data: null },
    { code: 401, message: "Save: send a token", data: null },
    { code: 401, message: "Get: send a token", data: null },
  ]);
  const headers = { authorization: "right" };
  const reply = await one.send("/save", { method: "POST", body: "{", headers });
  expect(reply.json).toMatchObject({ code: 400 });
});
