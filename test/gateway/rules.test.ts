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

test.each<[Omit<Rpc, "name">, string]>([
  [{ http: { get: "v1/x" } }, "must begin with a slash"],
  [{ http: { get: "/v1//x" } }, "expected a path segment at character 5"],
  [{ http: { get: "/v1/" } }, "expected a path segment at character 5"],
  [{ http: { get: "/v1/{text" } }, "a variable must end with }"],
  [{ http: { get: "/v1/{text={small}}" } }, "a variable inside a variable"],
  [{ http: { get: "/v1/**/x/**" } }, "** may occur once"],
  [{ http: { get: "/v1/%zz" } }, "expected a path segment"],
  [{ http: { get: "/v1/x?y" } }, "unexpected character at character 6"],
  [{ http: { body: "*" } }, "without a path"],
  [{ http: { custom: { kind: "list", path: "/x" } } }, "custom"],
  [{ http: { get: "/v1/{nope}" } }, "path variable {nope}"],
  [{ http: { get: "/v1/{words}" } }, "path variable {words}"],
  [{ http: { get: "/v1/{part}" } }, "path variable {part}"],
  [{ http: { get: "/v1/{part.x}" } }, "path variable {part.x}"],
  [{ http: { post: "/x", body: "nope" } }, 'body "nope" is not a field'],
  [{ http: { get: "/x", body: "*" } }, "GET binding can't have a body"],
  [{ http: { get: "/x", responseBody: "nope" } }, "response_body"],
  [
    { http: { get: "/x", additionalBindings: [{ get: "/y", additionalBindings: [{}] }] } },
    "can't have additional bindings",
  ],
  [{ rest: ENVELOPE }, "no google.api.http option"],
  [{ http: { get: "/x" }, rest: { reply: 77 } }, "reply 77"],
  [{ http: { get: "/x" }, rest: { reply: "REPLY_TEXT" } }, "REPLY_TEXT"],
  [
    { http: { get: "/x", responseBody: "revision" }, rest: { reply: "REPLY_TEXT" } },
    "REPLY_TEXT needs a string",
  ],
  [
    { http: { get: "/x", responseBody: "word" }, rest: { reply: "REPLY_ENVELOPE_NULL" } },
    "exclude each other",
  ],
  [{ http: { get: "/x" }, rest: { reply: "REPLY_EVENTS" } }, "stream"],
  [{ http: { get: "/x" }, rest: ENVELOPE, streams: "reply" }, "REPLY_EVENTS"],
  [{ http: { get: "/x" }, streams: "both" }, "bidirectional stream"],
  [
    { http: { post: "/x" }, rest: { reply: "REPLY_EVENTS" }, streams: "request" },
    "REPLY_EVENTS needs a server stream",
  ],
  [{ http: { get: "/x" }, rest: { etag: "nope" } }, 'etag "nope"'],
  [{ http: { get: "/x" }, rest: { etag: "yes" } }, "integer or string"],
  [{ http: { get: "/x" }, rest: { etag: "names" } }, "integer or string"],
  [{ http: { put: "/x" }, rest: { ...ENVELOPE, notice: "nope" } }, 'notice "nope"'],
  [{ http: { put: "/x" }, rest: { ...ENVELOPE, notice: "names" } }, "not a string field"],
  [{ http: { put: "/x" }, rest: { notice: "word" } }, "notice needs REPLY_ENVELOPE"],
  [{ http: { put: "/x" }, rest: { ifMatch: "nope" } }, 'if_match "nope"'],
  [{ http: { put: "/x" }, rest: { ifMatch: "small" } }, "64-bit integer"],
  [{ http: { put: "/x" }, rest: { ifMatch: "labels" } }, "64-bit integer"],
  [{ http: { put: "/x" }, rest: { ifMatch: "big" } }, "optional"],
  [{ http: { get: "/x" }, rest: { lastEventId: "expected" } }, "last_event_id needs REPLY_EVENTS"],
  [
    { http: { get: "/x" }, rest: { reply: "REPLY_EVENTS", lastEventId: "nope" }, streams: "reply" },
    'last_event_id "nope"',
  ],
  [{ http: { get: "/x" }, rest: { requireQuery: ["txet"] } }, 'require_query "txet"'],
  [{ http: { get: "/x" }, rest: { query: [{ name: "a", field: "nope" }] } }, 'query field "nope"'],
  [
    { http: { get: "/x" }, rest: { query: [{ name: "a", field: "labels" }] } },
    'query field "labels"',
  ],
  [{ http: { get: "/x" }, rest: { query: [{ field: "text" }] } }, "without a name"],
  [
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
    { http: { get: "/x" }, rest: { query: [{ name: "a", field: "text", commaSeparated: true }] } },
    "not repeated",
  ],
  [
    { http: { get: "/x/{text}" }, rest: { query: [{ name: "a", field: "text" }] } },
    "filled by path or body",
  ],
  [
    { http: { post: "/x", body: "*" }, rest: { query: [{ name: "a", field: "text" }] } },
    'the body is "*"',
  ],
])("%j fails the start, with the rpc's name: %s", async (rpc, reason) => {
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
