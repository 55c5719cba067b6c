import { expect, test } from "vitest";
import { findStateField } from "../../src/gateway/rest/field.ts";
import { listRoutes } from "../../src/gateway/rest/rest.ts";
import { defineRpc, defineRpcs, type Rpc } from "./contract.ts";
import { createHttp, echo, streaming } from "./gateway-server.ts";

async function start(...rpcs: Rpc[]): Promise<void> {
  const methods = defineRpcs(rpcs).map((desc) =>
    desc.methodKind === "server_streaming" ? streaming(desc, neverCalled) : echo(desc),
  );
  const { fastify } = await createHttp({ methods });
  await fastify.close();
}

function neverCalled(): never {
  throw new Error("must not be called");
}

const ENVELOPE = { reply: "REPLY_ENVELOPE" };

test.each<[string, Omit<Rpc, "name">, string]>([
  ["no leading slash", { http: { get: "v1/x" } }, "must begin with a slash"],
  ["an empty segment", { http: { get: "/v1//x" } }, "expected a path segment at character 5"],
  ["a trailing slash", { http: { get: "/v1/" } }, "expected a path segment at character 5"],
  ["an open brace", { http: { get: "/v1/{text" } }, "a variable must end with }"],
  ["a nested variable", { http: { get: "/v1/{text={small}}" } }, "a variable inside a variable"],
  ["** twice", { http: { get: "/v1/**/x/**" } }, "** may occur once"],
  ["a broken escape", { http: { get: "/v1/%zz" } }, "expected a path segment"],
  ["a query in the path", { http: { get: "/v1/x?y" } }, "unexpected character at character 6"],
  ["no path", { http: { body: "*" } }, "without a path"],
  ["a custom kind in lower case", { http: { custom: { kind: "list", path: "/x" } } }, "custom"],
  ["an unknown path variable", { http: { get: "/v1/{nope}" } }, "path variable {nope}"],
  ["a repeated path variable", { http: { get: "/v1/{words}" } }, "path variable {words}"],
  ["a message as path variable", { http: { get: "/v1/{part}" } }, "path variable {part}"],
  ["an unknown nested variable", { http: { get: "/v1/{part.x}" } }, "path variable {part.x}"],
  ["an unknown body", { http: { post: "/x", body: "nope" } }, 'body "nope" is not a field'],
  ["a GET with a body", { http: { get: "/x", body: "*" } }, "GET binding can't have a body"],
  ["an unknown response_body", { http: { get: "/x", responseBody: "nope" } }, "response_body"],
  [
    "additional bindings inside additional bindings",
    { http: { get: "/x", additionalBindings: [{ get: "/y", additionalBindings: [{}] }] } },
    "can't have additional bindings",
  ],
  ["a rest option alone", { rest: ENVELOPE }, "no google.api.http option"],
  ["an unknown reply", { http: { get: "/x" }, rest: { reply: 77 } }, "reply 77"],
  ["text without a string", { http: { get: "/x" }, rest: { reply: "REPLY_TEXT" } }, "REPLY_TEXT"],
  [
    "text of a number",
    { http: { get: "/x", responseBody: "revision" }, rest: { reply: "REPLY_TEXT" } },
    "REPLY_TEXT needs a string",
  ],
  [
    "null data and a response_body",
    { http: { get: "/x", responseBody: "word" }, rest: { reply: "REPLY_ENVELOPE_NULL" } },
    "exclude each other",
  ],
  ["events of a unary rpc", { http: { get: "/x" }, rest: { reply: "REPLY_EVENTS" } }, "stream"],
  [
    "a stream in an envelope",
    { http: { get: "/x" }, rest: ENVELOPE, streams: "reply" },
    "REPLY_EVENTS",
  ],
  ["a bidirectional stream", { http: { get: "/x" }, streams: "both" }, "bidirectional stream"],
  [
    "events of a client stream",
    { http: { post: "/x" }, rest: { reply: "REPLY_EVENTS" }, streams: "request" },
    "REPLY_EVENTS needs a server stream",
  ],
  ["an unknown etag", { http: { get: "/x" }, rest: { etag: "nope" } }, 'etag "nope"'],
  ["a bool as etag", { http: { get: "/x" }, rest: { etag: "yes" } }, "integer or string"],
  ["a list as etag", { http: { get: "/x" }, rest: { etag: "names" } }, "integer or string"],
  ["an unknown if_match", { http: { put: "/x" }, rest: { ifMatch: "nope" } }, 'if_match "nope"'],
  ["a 32-bit if_match", { http: { put: "/x" }, rest: { ifMatch: "small" } }, "64-bit integer"],
  ["a map as if_match", { http: { put: "/x" }, rest: { ifMatch: "labels" } }, "64-bit integer"],
  [
    "an if_match that is not optional",
    { http: { put: "/x" }, rest: { ifMatch: "big" } },
    "optional",
  ],
  [
    "a last_event_id without events",
    { http: { get: "/x" }, rest: { lastEventId: "expected" } },
    "last_event_id needs REPLY_EVENTS",
  ],
  [
    "an unknown last_event_id",
    { http: { get: "/x" }, rest: { reply: "REPLY_EVENTS", lastEventId: "nope" }, streams: "reply" },
    'last_event_id "nope"',
  ],
  [
    "an unknown required parameter",
    { http: { get: "/x" }, rest: { requireQuery: ["txet"] } },
    'require_query "txet"',
  ],
  [
    "an unknown query field",
    { http: { get: "/x" }, rest: { query: [{ name: "a", field: "nope" }] } },
    'query field "nope"',
  ],
  [
    "a query field that text cannot set",
    { http: { get: "/x" }, rest: { query: [{ name: "a", field: "labels" }] } },
    'query field "labels"',
  ],
  [
    "a query parameter without a name",
    { http: { get: "/x" }, rest: { query: [{ field: "text" }] } },
    "without a name",
  ],
  [
    "a query parameter twice",
    {
      http: { get: "/x" },
      rest: {
        query: [
          { name: "a", field: "text" },
          { name: "a", field: "small" },
        ],
      },
    },
    '"a" is listed twice',
  ],
  [
    "commas in a singular field",
    { http: { get: "/x" }, rest: { query: [{ name: "a", field: "text", commaSeparated: true }] } },
    "not repeated",
  ],
  [
    "a query field that the path sets",
    { http: { get: "/x/{text}" }, rest: { query: [{ name: "a", field: "text" }] } },
    "filled by path or body",
  ],
  [
    "query parameters beside a whole body",
    { http: { post: "/x", body: "*" }, rest: { query: [{ name: "a", field: "text" }] } },
    'the body is "*"',
  ],
])("%s fails the start, with the rpc's name", async (_, rpc, reason) => {
  const starting = start({ name: "BadRule", ...rpc });
  await expect(starting).rejects.toThrow("test.v1.ThingService.BadRule: ");
  await expect(starting).rejects.toThrow(reason);
});

test.each<[string, Rpc[]]>([
  [
    "the same method and path",
    [
      { name: "One", http: { get: "/x/{text}" } },
      { name: "Two", http: { get: "/x/{part_name}" } },
    ],
  ],
  [
    "a general binding before one that requires a parameter",
    [
      { name: "One", http: { get: "/x" } },
      { name: "Two", http: { get: "/x" }, rest: { requireQuery: ["text"] } },
    ],
  ],
  [
    "required parameters that an earlier binding has as well",
    [
      { name: "One", http: { get: "/x" }, rest: { requireQuery: ["text", "small"] } },
      { name: "Two", http: { get: "/x" }, rest: { requireQuery: ["small"] } },
    ],
  ],
  [
    "its own additional binding",
    [{ name: "Two", http: { get: "/x", additionalBindings: [{ get: "/x" }] } }],
  ],
])("an unreachable binding fails the start: %s", async (_, rpcs) => {
  const starting = start(...rpcs);
  await expect(starting).rejects.toThrow("ThingService.Two: GET /x");
  await expect(starting).rejects.toThrow("is never reached");
});

test("a general binding after those that require a parameter is accepted", async () => {
  const rest = { requireQuery: ["text"] };
  const rpcs = [
    { name: "One", http: { get: "/x" }, rest },
    { name: "Two", http: { get: "/x" } },
    { name: "Three", http: { post: "/x" } },
  ];
  await expect(start(...rpcs)).resolves.toBeUndefined();
});

test("an rpc without REST options is skipped", async () => {
  await expect(start({ name: "Internal", streams: "request" })).resolves.toBeUndefined();
});

test("routes are listed in the order of the rules", () => {
  const http = {
    get: "/x/{text}",
    additionalBindings: [{ custom: { kind: "REPORT", path: "/x" } }],
  };
  const methods = defineRpcs([{ name: "One", http }]).map(echo);
  expect(listRoutes({ methods })).toEqual([
    { httpMethod: "GET", path: "/x/{text}", rpc: "test.v1.ThingService.One" },
    { httpMethod: "REPORT", path: "/x", rpc: "test.v1.ThingService.One" },
  ]);
});

test("an if_match that is a 64-bit integer as text in JavaScript is refused", () => {
  const method = defineRpc({});
  const fields = method.input.fields.map((field) =>
    field.name === "expected" ? { ...field, longAsString: true } : field,
  );
  const input = { ...method.input, fields } as typeof method.input;
  expect(() => findStateField({ ...method, input }, "if_match", "expected")).toThrow(
    "64-bit integer",
  );
});
