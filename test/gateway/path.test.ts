import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo, echoed, startGateway } from "./gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };
const responseBody = "word";

/** The rpc's name is in the field `text` unless the path sets it. */
const RPCS: Rpc[] = [
  { name: "Root", http: { get: "/", responseBody }, rest },
  { name: "Literal", http: { get: "/v1/things/all", responseBody }, rest },
  { name: "One", http: { get: "/v1/things/{text}", responseBody }, rest },
  { name: "Star", http: { get: "/v1/star/{text=*}/end", responseBody }, rest },
  { name: "Number", http: { get: "/v1/number/{small}", responseBody }, rest },
  { name: "Nested", http: { get: "/v1/nested/{part.name}/{part.size}", responseBody }, rest },
  {
    name: "Several",
    http: { get: "/v1/{text=shelves/*}/{part_name=books/*}", responseBody },
    rest,
  },
  { name: "Rest", http: { get: "/v1/files/{text=**}", responseBody }, rest },
  { name: "Below", http: { get: "/v1/below/{text=a/**}", responseBody }, rest },
  { name: "Verb", http: { post: "/v1/things/{text}:cancel", responseBody }, rest },
  { name: "RestVerb", http: { post: "/v1/files/{text=**}:open", responseBody }, rest },
  { name: "Long", http: { get: "/v1/files/{text=**}/pages/{small}", responseBody }, rest },
  { name: "Fixed", http: { get: "/v1/{text=places}", responseBody }, rest },
  { name: "Any", http: { get: "/v1/any/*/x/**", responseBody }, rest },
  { name: "Escaped", http: { get: "/v1/caf%C3%A9", responseBody }, rest },
  { name: "Custom", http: { custom: { kind: "LIST", path: "/v1/custom" }, responseBody }, rest },
  { name: "Every", http: { custom: { kind: "*", path: "/v1/every" }, responseBody }, rest },
  {
    name: "Methods",
    http: {
      put: "/v1/methods/{text}",
      responseBody,
      additionalBindings: [
        { patch: "/v1/methods/{text}", responseBody },
        { delete: "/v1/methods/{text}", responseBody },
        { get: "/v1/also/{part_name}", responseBody },
      ],
    },
    rest,
  },
];

const gateway = startedForAll(() => startGateway({ methods: defineRpcs(RPCS).map(echo) }));

test.each<[string, string, unknown]>([
  ["GET", "/", {}],
  ["GET", "/?text=a", { text: "a" }],
  ["GET", "/v1/things/all", {}],
  ["GET", "/v1/things/al%6C", {}],
  ["GET", "/v1/things/other", { text: "other" }],
  ["GET", "/v1/things/a%2Fb", { text: "a/b" }],
  ["GET", "/v1/things/a+b", { text: "a+b" }],
  ["GET", "/v1/things/%E4%BD%A0", { text: "你" }],
  ["GET", "/v1/things/x:y", { text: "x:y" }],
  ["GET", "/v1/star/a/end", { text: "a" }],
  ["GET", "/v1/number/-7", { small: -7 }],
  ["GET", "/v1/nested/a/7", { part: { name: "a", size: "7" } }],
  ["GET", "/v1/shelves/1/books/2", { text: "shelves/1", part_name: "books/2" }],
  ["GET", "/v1/files/a/b/c", { text: "a/b/c" }],
  ["GET", "/v1/files/a%20b/c%2Fd", { text: "a b/c%2Fd" }],
  ["GET", "/v1/files", {}],
  ["GET", "/v1/files/a/b/pages/7", { text: "a/b", small: 7 }],
  ["GET", "/v1/places", { text: "places" }],
  ["GET", "/v1/below/a", { text: "a" }],
  ["GET", "/v1/below/a/b", { text: "a/b" }],
  ["POST", "/v1/things/a:cancel", { text: "a" }],
  ["POST", "/v1/things/a:b:cancel", { text: "a:b" }],
  ["POST", "/v1/files/a/b:open", { text: "a/b" }],
  ["GET", "/v1/any/a/x", {}],
  ["GET", "/v1/any/a/x/b/c", {}],
  ["GET", "/v1/caf%C3%A9", {}],
  ["GET", "/v1/caf%c3%a9", {}],
  ["LINK", "/v1/every", {}],
  ["PUT", "/v1/methods/a", { text: "a" }],
  ["PATCH", "/v1/methods/a", { text: "a" }],
  ["DELETE", "/v1/methods/a", { text: "a" }],
  ["GET", "/v1/also/a", { part_name: "a" }],
])("%s %s reaches its rpc", async (method, path, expected) => {
  expect(echoed(await gateway.send(path, { method }))).toEqual(expected);
});

test.each([
  "/v1",
  "/v1/",
  "/v1/things",
  "/v1/things/",
  "/v1/things/a/b",
  "//v1/things/all",
  "/V1/things/all",
  "/v1/star//end",
  "/v1/shelves/1/books",
  "/v1/below/b",
  "/v1/any//x",
  "/v1%2Fthings/all",
])("%s is an unknown path", async (path) => {
  const reply = await gateway.send(path);
  expect(reply.status).toBe(404);
  expect(reply.json).toEqual({
    code: 404,
    message: expect.stringContaining("nothing"),
    data: null,
  });
});

test.each<[string, string, string]>([
  ["POST", "/v1/things/all", "GET, HEAD, OPTIONS"],
  ["GET", "/v1/things/a/b:cancel", ""],
  ["DELETE", "/v1/things/a:cancel", "POST, OPTIONS, GET, HEAD"],
  ["GET", "/v1/custom", ""],
  ["POST", "/v1/methods/a", "PUT, PATCH, DELETE, OPTIONS"],
])("%s %s is answered with 405 and Allow, or 404", async (method, path, allow) => {
  const reply = await gateway.send(path, { method });
  const status = path === "/v1/custom" || allow ? 405 : 404;
  expect(reply.status).toBe(status);
  if (allow) expect(reply.headers.allow).toBe(allow);
  expect(reply.json).toMatchObject({ code: status, data: null });
});

test("a wrong path variable is named", async () => {
  expect(echoed(await gateway.send("/v1/number/x"))).toEqual({
    code: 400,
    message: 'path: "small": expected a whole number from -2147483648 to 2147483647, got "x"',
  });
  expect(echoed(await gateway.send("/v1/things/%ff"))).toMatchObject({ code: 400 });
  expect(echoed(await gateway.send("/v1/files/a/%zz"))).toMatchObject({ code: 400 });
});

test("a long unknown path is cut in the message", async () => {
  const reply = await gateway.send(`/${"a".repeat(5_000)}`);
  expect(reply.text.length).toBeLessThan(300);
});
