import { fastify } from "fastify";
import { expect, test } from "vitest";
import { restGateway } from "../../src/gateway/gateway.ts";
import { startedForAll } from "../started.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo } from "./gateway-server.ts";

const responseBody = "word";

const RPCS: Rpc[] = [
  { name: "Get", http: { get: "/get/{text}", responseBody } },
  { name: "Rest", http: { get: "/rest/{text=**}", responseBody } },
  { name: "Middle", http: { get: "/middle/{text=**}/rows/{small}", responseBody } },
  { name: "Whole", http: { post: "/whole", body: "*", responseBody } },
  { name: "Part", http: { post: "/part", body: "part", responseBody } },
  { name: "Thing", http: { get: "/thing", responseBody: "thing" } },
];

const app = startedForAll(async () => {
  const started = fastify();
  await started.register(restGateway, { methods: defineRpcs(RPCS).map(echo) });
  return { inject: started.inject.bind(started), close: () => started.close() };
});

async function ask(method: "GET" | "POST", url: string, payload?: string): Promise<unknown> {
  const json = (await app.inject({ method, url, ...(payload && { payload }) })).json();
  return typeof json === "string" ? JSON.parse(json) : json;
}

test.each([
  ['{"big":9007199254740993}', { big: "9007199254740993" }],
  ['{"big":"1e3","huge":"1.0"}', { big: "1000", huge: "1" }],
  ['{"approx":3.4028235e38}', { approx: 3.4028234663852886e38 }],
  ['{"approx":"Infinity"}', { approx: "Infinity" }],
  ['{"left":null,"right":1}', { right: 1 }],
  ['{"info":{"a":[1,null]}}', { info: { a: [1, null] } }],
])("%s is parsed by the JSON mapping", async (body, expected) => {
  expect(await ask("POST", "/whole", body)).toEqual(expected);
});

test.each([
  '{"at":"2026-02-30T00:00:00Z"}',
  '{"at":"2026-01-01T24:00:00Z"}',
  '{"Text":1,"color":"nope"}',
  '{"small":"01"}',
  "null",
])("%s is refused with google.rpc.Status", async (body) => {
  expect(await ask("POST", "/whole", body)).toEqual({ code: 3, message: expect.any(String) });
});

test.each([
  [`/get/${"a".repeat(150)}`, { text: "a".repeat(150) }],
  ["/get/a?note.value=x", { text: "a", note: "x" }],
  ["/rest/a/", { text: "a/" }],
  ["/middle/a/b/rows/7", { text: "a/b", small: 7 }],
  ["/thing", {}],
])("%s is answered", async (url, expected) => {
  expect(await ask("GET", url)).toMatchObject(expected);
});

test.each(["part=a", "parts.name=a", "words[]=x", "small.x=a", "small=1&small=2", "small="])(
  "the parameter %s is refused",
  async (query) => {
    expect(await ask("GET", `/get/a?${query}`)).toMatchObject({ code: 3 });
  },
);

test("an empty body gives an empty message", async () => {
  expect(await ask("POST", "/part", "")).toEqual({ part: {} });
});

test("405 is google.rpc.Status with Allow", async () => {
  const reply = await app.inject({ method: "PUT", url: "/whole" });
  expect([reply.statusCode, reply.headers.allow]).toEqual([405, "POST, OPTIONS"]);
  expect(reply.json()).toMatchObject({ code: 12 });
});
