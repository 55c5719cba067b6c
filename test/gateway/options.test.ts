import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMethod,
  type DescMethodClientStreaming,
  fromJson,
  type JsonObject,
  type Message,
} from "@bufbuild/protobuf";
import {
  FieldMaskSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_field_mask,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { fastify } from "fastify";
import { describe, expect, test } from "vitest";
import { file_google_api_annotations } from "../../gen/google/api/annotations_pb.js";
import type { Call } from "../../src/gateway/call.ts";
import { type RestHandlerOptions, restHandler } from "../../src/gateway/fetch.ts";
import { restGateway } from "../../src/gateway/gateway.ts";
import type { Method } from "../../src/gateway/method.ts";
import { serviceConfigRules } from "../../src/gateway/rest/rule.ts";
import { defineRpcs, field, made, REPEATED, type Rpc } from "./contract.ts";
import { echo, streaming, unary } from "./gateway-server.ts";

const responseBody = "word";

/** A handler of rpcs that return their request, and its replies as status and JSON. */
function serving(rpcs: readonly Rpc[], options: RestHandlerOptions = {}) {
  const handler = restHandler({ methods: defineRpcs(rpcs).map(echo), ...options });
  return async (path: string, init?: RequestInit): Promise<[number, unknown]> => {
    const response = await handler(new Request(`http://localhost${path}`, init));
    const json = await response.json();
    return [response.status, typeof json === "string" ? JSON.parse(json) : json];
  };
}

const GET: Rpc = { name: "Get", http: { get: "/get", responseBody } };
const invalid = [400, expect.objectContaining({ code: 3, message: expect.any(String) })];

test("maps in the query are refused, or accepted by option", async () => {
  const query = "/get?labels[a]=1&labels[b]=&ranks[7]=true";
  expect(await serving([GET])(query)).toEqual(invalid);
  const ask = serving([GET], { mapParameters: true });
  expect(await ask(query)).toEqual([200, { labels: { a: "1", b: "" }, ranks: { 7: true } }]);
  for (const wrong of ["ranks[x]=true", "ranks[7]=x", "labels=a", "part[name]=x"])
    expect([wrong, ...(await ask(`/get?${wrong}`))]).toEqual([wrong, ...invalid]);
});

test("unknown query parameters are ignored, or refused by option", async () => {
  expect(await serving([GET])("/get?text=a&nope=1")).toEqual([200, { text: "a" }]);
  const ask = serving([GET], { unknownParameters: "refuse" });
  expect(await ask("/get?text=a&nope=1")).toEqual(invalid);
  expect(await ask("/get?text=a")).toEqual([200, { text: "a" }]);
  const http = { get: "/get/{part.name}", responseBody };
  const query = [{ name: "group", field: "numbers" }];
  const named = serving([{ name: "Named", http, rest: { query } }], {
    unknownParameters: "refuse",
  });
  const known = { numbers: [1], part: { name: "a" } };
  expect(await named("/get/a?group=1&part.name=b")).toEqual([200, known]);
});

test("unknown members and enum names are ignored or refused by option", async () => {
  const rpcs = [{ name: "Post", http: { post: "/post", body: "*", responseBody } }];
  const post = (body: string) => ["/post", { method: "POST", body, headers: JSON_TYPE }] as const;
  expect(await serving(rpcs)(...post('{"nope":1,"text":"a"}'))).toEqual([200, { text: "a" }]);
  expect(await serving(rpcs)(...post('{"color":"NOPE"}'))).toEqual(invalid);
  const other = serving(rpcs, { unknownMembers: "refuse", unknownEnums: "ignore" });
  expect(await other(...post('{"nope":1}'))).toEqual(invalid);
  expect(await other(...post('{"color":"NOPE","text":"a"}'))).toEqual([200, { text: "a" }]);
});

const JSON_TYPE = { "content-type": "application/json" };

describe("a deadline", () => {
  const left = (headers: Record<string, string>): Promise<number | undefined> => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const [desc] = defineRpcs([GET]) as [DescMethod];
    const method = unary(desc, (_, call) => {
      resolve(call.timeoutMs());
      return {};
    });
    const called = restHandler({ methods: [method] })(new Request("http://a/get", { headers }));
    return Promise.race([promise, called.then(() => promise)]);
  };

  test.each([
    ["grpc-timeout", "90S", 90_000],
    ["grpc-timeout", "2H", 7_200_000],
    ["connect-timeout-ms", "1500", 1_500],
    ["x-server-timeout", "2.5", 2_500],
  ])("of %s: %s", async (name, value, expected) => {
    const ms = await left({ [name]: value });
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(expected);
    expect(ms).toBeGreaterThan(expected - 1_000);
  });

  test("is absent without a header, and the first of several headers applies", async () => {
    expect(await left({})).toBeUndefined();
    const both = await left({ "grpc-timeout": "90S", "x-server-timeout": "5" });
    expect(both).toBeGreaterThan(5_000);
  });
});

test("headers are passed in and out by option, after admission", async () => {
  const [desc] = defineRpcs([GET]) as [DescMethod];
  const seen: string[][] = [];
  const method = unary(desc, (_, call) => {
    seen.push([...call.requestHeader.keys()]);
    call.responseHeader.set("x-own", "1");
    call.responseHeader.set("x-secret", "2");
    call.responseTrailer.set("x-end", "3");
    return {};
  });
  const admitted: (string | undefined)[] = [];
  const handler = restHandler({
    methods: [method],
    admit: (call: Call) => void admitted.push(call.header("x-internal")),
    requestHeader: (name) => name !== "x-internal",
    responseHeader: (name) => name !== "x-secret",
  });
  const headers = { "x-internal": "i", "x-asked": "a" };
  const reply = await handler(new Request("http://a/get", { headers }));
  expect(admitted).toEqual(["i"]);
  expect(seen).toEqual([["x-asked"]]);
  expect(reply.headers.get("x-own")).toBe("1");
  expect(reply.headers.get("trailer-x-end")).toBe("3");
  expect(reply.headers.get("x-secret")).toBeNull();
});

describe("a rule that another one shadows", () => {
  const rpcs: Rpc[] = [
    { name: "One", http: { get: "/x/{text}", responseBody } },
    { name: "Two", http: { get: "/x/{part_name}", responseBody } },
  ];
  const sentence =
    "test.v1.ThingService.Two: GET /x/{part_name} is never reached: test.v1.ThingService.One always matches before it";

  test("is left out with a warning that names both", async () => {
    const warnings: string[] = [];
    const ask = serving(rpcs, { warn: (message) => void warnings.push(message) });
    expect(warnings).toEqual([sentence]);
    expect(await ask("/x/a")).toEqual([200, { text: "a" }]);
  });

  test("is a warning in Fastify's log", async () => {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const app = fastify({ logger: { level: "warn", stream } });
    await app.register(restGateway, { methods: defineRpcs(rpcs).map(echo) });
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([sentence]);
  });

  test("fails the start if the option throws", () => {
    const warn = (message: string): never => {
      throw new Error(message);
    };
    expect(() => serving(rpcs, { warn })).toThrow(sentence);
  });
});

test("additional rules precede the contract's, as values or as a service configuration", async () => {
  const selector = "test.v1.ThingService.Get";
  const rule = {
    selector,
    http: { pattern: { case: "get", value: "/other/{text}" }, responseBody },
  } as const;
  const config = { http: { rules: [{ selector, get: "/other/{text}", responseBody }] } };
  for (const rules of [[rule], serviceConfigRules(config)]) {
    const ask = serving([GET], { rules });
    expect(await ask("/other/a")).toEqual([200, { text: "a" }]);
    expect(await ask("/get")).toEqual([404, expect.objectContaining({ code: 5 })]);
  }
  expect(serviceConfigRules({ name: "a.example.com" })).toEqual([]);
});

/**
 * A contract with google.api.HttpBody and google.protobuf.FieldMask, which the shared test contract
 * does not have.
 */
function define(methods: readonly JsonObject[]): Map<string, DescMethod> {
  const options = { registry: createRegistry(file_google_api_annotations) };
  const text = (name: string, number: number) => field(name, "STRING", number);
  const message = (name: string, number: number, typeName: string) =>
    field(name, "MESSAGE", number, { typeName });
  const body = {
    name: "google/api/httpbody.proto",
    package: "google.api",
    syntax: "proto3",
    messageType: [
      { name: "HttpBody", field: [text("content_type", 1), field("data", "BYTES", 2)] },
    ],
  };
  const tags = field("tags", "STRING", 3, REPEATED);
  const mask = message("update_mask", 2, ".google.protobuf.FieldMask");
  const main = {
    name: "files.proto",
    package: "files",
    syntax: "proto3",
    dependency: [body.name, "google/protobuf/field_mask.proto"],
    messageType: [
      { name: "File", field: [text("name", 1), message("body", 2, ".google.api.HttpBody")] },
      { name: "Book", field: [text("title", 1), message("author", 2, ".files.Author"), tags] },
      { name: "Author", field: [text("first_name", 1), text("last_name", 2)] },
      { name: "Update", field: [message("book", 1, ".files.Book"), mask] },
    ],
    service: [{ name: "Files", method: [...methods] }],
  };
  const file = [
    file_google_protobuf_field_mask.proto,
    ...[body, main].map((one) => fromJson(FileDescriptorProtoSchema, one, options)),
  ];
  const service = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(
    "files.Files",
  );
  return new Map(service?.methods.map((method) => [method.name, method]));
}

function member(message: Message, name: string): unknown {
  return Reflect.get(message, name);
}

describe("google.api.HttpBody", () => {
  const http = (rule: JsonObject) => ({ "[google.api.http]": rule });
  const methods = define([
    {
      name: "Put",
      inputType: ".files.File",
      outputType: ".google.api.HttpBody",
      options: http({ put: "/files/{name}", body: "body" }),
    },
    {
      name: "Read",
      inputType: ".files.File",
      outputType: ".google.api.HttpBody",
      serverStreaming: true,
      options: http({ get: "/files/{name}" }),
    },
    {
      name: "Send",
      inputType: ".files.File",
      outputType: ".files.File",
      clientStreaming: true,
      options: http({ post: "/files/{name}", body: "body" }),
    },
  ]);
  const desc = (name: string) => methods.get(name) as DescMethod;
  const bytes = (contentType: string, text: string): Message =>
    made(desc("Put").output, { contentType, data: Buffer.from(text) });
  const sent: [unknown, unknown, string][] = [];
  const handler = restHandler({
    methods: [
      unary(desc("Put"), (request) => member(request, "body") as Message),
      streaming(desc("Read"), async function* (request) {
        if (member(request, "name") === "none") return;
        yield bytes("text/x-one", "one ");
        if (member(request, "name") === "fail") throw new ConnectError("gone", Code.DataLoss);
        yield bytes("text/x-two", "two");
      }),
      {
        kind: "client_streaming",
        desc: desc("Send") as DescMethodClientStreaming,
        invoke: async (requests) => {
          for await (const request of requests) {
            const body = member(request, "body") as Message;
            const data = member(body, "data") as Uint8Array;
            sent.push([
              member(request, "name"),
              member(body, "contentType"),
              Buffer.from(data).toString(),
            ]);
          }
          return { message: create(desc("Send").output, {}) };
        },
      } satisfies Method,
    ],
  });

  test("is received and sent as bytes with their type", async () => {
    const init = {
      method: "PUT",
      headers: { "content-type": "image/x-own" },
      body: Buffer.from([1, 0, 255]),
    };
    const reply = await handler(new Request("http://a/files/x", init));
    expect(reply.headers.get("content-type")).toBe("image/x-own");
    expect([...new Uint8Array(await reply.arrayBuffer())]).toEqual([1, 0, 255]);
  });

  test("is streamed out with the type of the first message", async () => {
    const reply = await handler(new Request("http://a/files/x"));
    expect([reply.status, reply.headers.get("content-type"), await reply.text()]).toEqual([
      200,
      "text/x-one",
      "one two",
    ]);
    const empty = await handler(new Request("http://a/files/none"));
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
  });

  test("is aborted when the stream fails, so that its client detects it", async () => {
    const reply = await handler(new Request("http://a/files/fail"));
    await expect(reply.text()).rejects.toThrow("aborted");
  });

  test("is received incrementally, with the path in each message", async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const text of ["one ", "two"]) controller.enqueue(Buffer.from(text));
        controller.close();
      },
    });
    const headers = { "content-type": "text/x-own" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    expect((await handler(new Request("http://a/files/x", init))).status).toBe(200);
    expect(sent).toEqual([
      ["x", "text/x-own", "one "],
      ["x", "text/x-own", "two"],
    ]);
  });
});

describe("PATCH", () => {
  const [update] = [
    ...define([
      {
        name: "Update",
        inputType: ".files.Update",
        outputType: ".files.Update",
        options: { "[google.api.http]": { patch: "/books", body: "book" } },
      },
    ]).values(),
  ] as [DescMethod];
  const masks = async (
    options: RestHandlerOptions,
    query = "",
    body = '{"title":"a","author":{"lastName":"b"}}',
  ): Promise<unknown> => {
    let paths: unknown;
    const method = unary(update, (request) => {
      const mask = member(request, "updateMask");
      paths = mask && create(FieldMaskSchema, mask as object).paths;
      return {};
    });
    const init = { method: "PATCH", headers: JSON_TYPE, body };
    await restHandler({ methods: [method], ...options })(
      new Request(`http://a/books${query}`, init),
    );
    return paths;
  };

  test("sets an absent update mask from its body by option, and never replaces one", async () => {
    expect(await masks({})).toBeUndefined();
    expect(await masks({ fillUpdateMask: true })).toEqual(["title", "author.last_name"]);
    expect(await masks({ fillUpdateMask: true }, "?updateMask=title")).toEqual(["title"]);
    expect(await masks({ fillUpdateMask: true }, "?updateMask.paths=title")).toEqual(["title"]);
  });

  test.each([1, 300, 20_000])("sets the mask from a body with a list of %d", async (count) => {
    const body = JSON.stringify({ title: "a", tags: Array(count).fill("b") });
    expect(await masks({ fillUpdateMask: true }, "", body)).toEqual(["title", "tags"]);
  });

  test.each([
    ["title,author.last_name", ["title", "author.last_name"]],
    ["title,author.lastName", ["title", "author.last_name"]],
    ["", []],
    ["title,,author", undefined],
    ["Title", undefined],
    ["a b", undefined],
  ])("takes the mask %j in the query", async (mask, paths) => {
    expect(await masks({}, `?updateMask=${encodeURIComponent(mask)}`)).toEqual(paths);
  });

  test.each([
    ["title,author.lastName", ["title", "author.last_name"]],
    ["author.last_name", undefined],
    [7, undefined],
  ])("takes the mask %j in the body", async (mask, paths) => {
    let seen: unknown;
    const method = unary(update, (request) => {
      const given = member(request, "updateMask");
      seen = given && create(FieldMaskSchema, given as object).paths;
      return {};
    });
    const http = { pattern: { case: "post", value: "/masks" }, body: "*" } as const;
    const rules = [{ selector: "files.Files.Update", http }];
    const reply = await restHandler({ methods: [method], rules })(
      new Request("http://a/masks", {
        method: "POST",
        headers: JSON_TYPE,
        body: JSON.stringify({ updateMask: mask }),
      }),
    );
    expect([reply.status, seen]).toEqual([paths === undefined ? 400 : 200, paths]);
    if (paths === undefined)
      expect(await reply.json()).toMatchObject({ message: expect.stringContaining("camel case") });
  });

  test("refuses a misspelt member whose mask would not have it, unless it is to be ignored", async () => {
    const status = async (options: RestHandlerOptions): Promise<number> => {
      const init = { method: "PATCH", headers: JSON_TYPE, body: '{"titel":"a"}' };
      const handler = restHandler({ methods: [unary(update, () => ({}))], ...options });
      return (await handler(new Request("http://a/books", init))).status;
    };
    expect(await status({})).toBe(200);
    expect(await status({ fillUpdateMask: true })).toBe(400);
    expect(await status({ fillUpdateMask: true, unknownMembers: "ignore" })).toBe(200);
  });
});

const WHOLE: Rpc = { name: "Post", http: { post: "/post", body: "*", responseBody } };
const PART: Rpc = { name: "Part", http: { post: "/part", body: "part", responseBody } };
const NOTE: Rpc = { name: "Note", http: { post: "/note", body: "note", responseBody } };

function post(body: string, type: string | undefined = "application/json"): RequestInit {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  return { method: "POST", headers, body: Buffer.from(body) };
}

test("unknown parameters of a call whose body is the message are refused by option", async () => {
  expect(await serving([WHOLE])("/post?nope=1", post("{}"))).toEqual([200, {}]);
  const ask = serving([WHOLE], { unknownParameters: "refuse" });
  expect(await ask("/post?nope=1", post("{}"))).toEqual(invalid);
  expect(await ask("/post", post("{}"))).toEqual([200, {}]);
  const deciding = { ...WHOLE, rest: { requireQuery: ["mode"] } };
  const choosing = serving([deciding], { unknownParameters: "refuse" });
  expect(await choosing("/post?mode=1", post("{}"))).toEqual([200, {}]);
});

test.each([
  ["two members of a oneof", "left=a&right=1"],
  ["a member of a oneof twice", "left=a&left=b"],
  ["the key of a map twice", "labels[a]=1&labels[a]=2"],
  ["the key of a map twice, in other digits", "ranks[7]=true&ranks[07]=true"],
  ["a part of a Struct", "info.a=1"],
  ["a part of a part of a Struct", "info.a.b=1"],
])("%s in a query is refused", async (_name, query) => {
  const ask = serving([GET], { mapParameters: true });
  expect(await ask(`/get?${query}`)).toEqual(invalid);
});

test("one member of a oneof, and different keys of a map, are taken from a query", async () => {
  const ask = serving([GET], { mapParameters: true });
  expect(await ask("/get?left=a&seen=b&expected=1&labels[a]=1&labels[b]=2")).toEqual([
    200,
    { left: "a", seen: "b", expected: "1", labels: { a: "1", b: "2" } },
  ]);
});

test("a body of null is no message", async () => {
  expect(await serving([WHOLE])("/post", post("null"))).toEqual(invalid);
  expect(await serving([PART])("/part", post("null"))).toEqual(invalid);
  // The JSON form of a wrapper that is not set.
  expect(await serving([NOTE])("/note", post("null"))).toEqual([200, {}]);
  const tolerance = { nullBody: true };
  expect(await serving([PART], { tolerance })("/part", post("null"))).toEqual([200, {}]);
});

describe("the type that curl sends by default, application/x-www-form-urlencoded,", () => {
  const scalars = define([
    {
      name: "Post",
      inputType: ".files.Author",
      outputType: ".files.Author",
      options: { "[google.api.http]": { post: "/post", body: "*" } },
    },
  ]).get("Post") as DescMethod;
  const handler = restHandler({ methods: [unary(scalars, (request) => request)] });
  const form = "application/x-www-form-urlencoded";
  const send = async (body: string) => {
    const reply = await handler(new Request("http://a/post", post(body, form)));
    return [reply.status, await reply.json()];
  };

  test.each(['{"firstName":"x"}', ' \n{"firstName":"x"}', '["x"]', '"x"'])(
    "is refused for the JSON %s",
    async (body) => {
      const message = expect.stringContaining("application/json");
      expect(await send(body)).toEqual([415, { code: 3, message }]);
    },
  );

  test("is taken for a form", async () => {
    expect(await send("firstName=a%20b&last_name=c")).toEqual([
      200,
      { firstName: "a b", lastName: "c" },
    ]);
  });
});

describe("the status of a rule", () => {
  const rpc = (status: number, more: object = {}): Rpc => ({
    name: "Post",
    http: { post: "/post", body: "*", responseBody },
    rest: { status, ...more },
  });

  test.each([201, 202])("%i is that of the reply", async (status) => {
    expect(await serving([rpc(status)])("/post", post('{"text":"a"}'))).toEqual([
      status,
      { text: "a" },
    ]);
  });

  test("204 has no body, and errors keep their status", async () => {
    const handler = restHandler({ methods: defineRpcs([rpc(204)]).map(echo) });
    const reply = await handler(new Request("http://a/post", post("{}")));
    expect([reply.status, await reply.text()]).toEqual([204, ""]);
    expect([...reply.headers.keys()]).toEqual(["cache-control"]);
    expect((await handler(new Request("http://a/post", post("{")))).status).toBe(400);
  });

  test("is part of a rule beside the contract, too", async () => {
    const rules = [
      {
        selector: "test.v1.ThingService.Get",
        http: { pattern: { case: "post", value: "/made" }, body: "*", responseBody },
        rest: { status: 201 },
      } as const,
    ];
    expect(await serving([GET], { rules })("/made", post("{}"))).toEqual([201, {}]);
  });

  test.each([
    ["an unsuitable one", rpc(404)],
    ["an envelope", rpc(201, { reply: "REPLY_ENVELOPE" })],
    ["a stream", { ...rpc(201), streams: "reply", http: { get: "/post" } }],
  ] as [string, Rpc][])("ends the start with %s", (_name, wrong) => {
    expect(() => serving([wrong])).toThrow(/status \d+/);
  });
});

test("a rule whose selector names no rpc that is served ends the start", () => {
  const http = { pattern: { case: "get", value: "/x" } } as const;
  const rules = [{ selector: "test.v1.ThingService.Gte", http }];
  expect(() => serving([GET], { rules })).toThrow("test.v1.ThingService.Gte");
});

describe("the byte budget of request bodies", () => {
  const [desc] = defineRpcs([WHOLE]) as [DescMethod];
  const methods = [unary(desc, (request) => ({ word: String(member(request, "text")).length }))];

  test("a limit above the share of one client ends the start, which names the option", () => {
    for (const options of [
      { bodyLimit: () => 33 * 2 ** 20 },
      { bounds: { maxBytes: 33 * 2 ** 20 } },
      { readMaxBytes: 33 * 2 ** 20 },
      { bodyLimit: () => 600, bodyBudget: 1_000 },
    ])
      expect(() => restHandler({ methods, ...options })).toThrow(/bodyBudget/);
  });

  test("a larger budget takes larger bodies", async () => {
    const limits = { bodyLimit: () => 40 * 2 ** 20, bodyBudget: 100 * 2 ** 20 };
    const handler = restHandler({ methods: [unary(desc, () => ({ word: "1" }))], ...limits });
    const body = `{"text":"${"a".repeat(35 * 2 ** 20)}"}`;
    const reply = await handler(new Request("http://a/post", post(body)));
    expect([reply.status, await reply.text()]).toEqual([200, '"1"']);
  });
});

test("extensions are members that are known", async () => {
  const get = { name: "Get", inputType: ".extended.M", outputType: ".extended.M" };
  const file = fromJson(FileDescriptorProtoSchema, {
    name: "extended.proto",
    package: "extended",
    syntax: "proto2",
    messageType: [{ name: "M", extensionRange: [{ start: 100, end: 200 }] }],
    extension: [field("note", "INT64", 100, { extendee: ".extended.M" })],
    service: [{ name: "S", method: [get] }],
  });
  const registry = createFileRegistry(file, () => undefined);
  const method = registry.getService("extended.S")?.methods[0] as DescMethod;
  const http = { pattern: { case: "post", value: "/x" }, body: "*" } as const;
  const handler = restHandler({
    methods: [unary(method, (request) => request)],
    rules: [{ selector: "extended.S.Get", http }],
    unknownMembers: "refuse",
  });
  const send = async (body: string) => {
    const reply = await handler(new Request("http://a/x", post(body)));
    return [reply.status, await reply.json()];
  };
  expect(await send('{"[extended.note]":"7"}')).toEqual([200, { "[extended.note]": "7" }]);
  expect(await send('{"[extended.note]":"x"}')).toEqual(invalid);
  expect(await send('{"[extended.none]":"7"}')).toEqual(invalid);
});

test("descriptors of an older protobuf-es, whose enums have no JSON names, end the start", () => {
  const methods = defineRpcs([GET]).map(echo);
  const [color] = methods[0]?.desc.parent.file.enums ?? [];
  for (const value of color?.values ?? []) Reflect.deleteProperty(value, "jsonName");
  expect(() => restHandler({ methods })).toThrow("another version of @bufbuild/protobuf");
});

test("a wrapper given as a whole and by its value is given twice", async () => {
  const message = expect.stringContaining("given more than once");
  const twice = [400, expect.objectContaining({ code: 3, message })];
  const ask = serving([GET]);
  expect(await ask("/get?note.value=a")).toEqual([200, { note: "a" }]);
  expect(await ask("/get?note=a&note.value=b")).toEqual(twice);
  expect(await ask("/get?note.value=a&note=b")).toEqual(twice);
});
