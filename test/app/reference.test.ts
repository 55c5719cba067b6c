import { create } from "@bufbuild/protobuf";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { openApiPlugin } from "../../src/app/openapi.ts";
import { createReference } from "../../src/app/reference-page.ts";
import type { StartState } from "../../src/app/start-page.ts";
import { createDocument } from "../../src/gateway/openapi/document.ts";
import { defineRpcs } from "../gateway/contract.ts";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "../wire/service.ts";

const service = startedForAll(() => startService());

function get(path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${service.port}${path}`);
}

describe("the REST reference", () => {
  test("is a page without scripts that lists every operation and has no external links", async () => {
    const reply = await get("/reference");
    const html = await reply.text();
    expect(reply.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(html).not.toMatch(/<script|\son\w+=|javascript:/i);
    const { paths } = (await (await get("/openapi.json")).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.values(paths).flatMap((item) => Object.values(item));
    for (const { operationId } of operations) expect(html).toContain(`id="${operationId}"`);
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const [, target = ""] of html.matchAll(/href="([^"]+)"/g)) {
      if (target.startsWith("#")) expect(ids, target).toContain(target.slice(1));
      else expect(target).toBe("openapi.json");
    }
  });

  test("escapes comments of a contract", () => {
    const [desc] = defineRpcs([{ name: "GetThing", http: { get: "/things/{text}" }, reads: true }]);
    if (desc === undefined) throw new Error("no rpc");
    const evil = '<img src=x onerror="alert(1)">';
    const html = createReference(
      createDocument({
        ...plain([desc]),
        title: evil,
        comments: { "test.v1.ThingService.GetThing": evil, "test.v1.Thing.text": evil },
        examples: { "test.v1.ThingService.GetThing": { path: { text: evil } } },
      }),
    );
    expect(html).not.toContain("<img");
  });

  test("headers are shown once", async () => {
    const html = await (await get("/reference")).text();
    for (const name of ["Mooring-At-Least-Revision", "Mooring-Stale-Seconds", "Retry-After"])
      expect(html.split(`<code>${name}</code>`)).toHaveLength(2);
  });
});

test("the root page describes the service and links to its parts", async () => {
  const html = await (await get("/")).text();
  expect(html).toContain("Mooring v9.8.7");
  // The console is 503 in a program that runs from its source without a build.
  for (const [, path = ""] of html.matchAll(/href="([^"]+)"/g))
    expect((await get(`/${path}`)).status, path).not.toBe(404);
});

test.each([
  { mode: "token", without: 401, withToken: 200 },
  { mode: "off", without: 404, withToken: 404 },
])("with MOORING_REFLECTION=$mode the contract needs a token", async (expected) => {
  const { mode, without, withToken } = expected;
  const closedService = await startService({ env: { MOORING_REFLECTION: mode } });
  onTestFinished(closedService.stop);
  for (const path of ["/openapi.json", "/reference"]) {
    const at = `http://127.0.0.1:${closedService.port}${path}`;
    expect((await fetch(at)).status, path).toBe(without);
    expect((await fetch(at, { headers: { authorization: TOKEN } })).status).toBe(withToken);
  }
});

/** Document options for rpcs that are not called. */
function plain(descs: readonly object[]) {
  return {
    methods: descs.map((desc) => ({
      kind: "unary" as const,
      desc: desc as never,
      invoke: async () => create({} as never),
    })),
    title: "Things",
    version: "1.0.0",
    description: "",
    comments: {},
    examples: {},
    isPublic: () => true,
    httpStatus: "envelope" as const,
    headers: { request: [], reply: [], answer: [] },
  };
}

test("the start page says what runs, its state and the next step", async () => {
  const app = Fastify();
  const next = "Next: <sign in>.";
  let state: StartState = { isReady: true, text: "It is ready.", next };
  await app.register(openApiPlugin, {
    name: "Things",
    description: "Things run here.",
    document: () => plain([]),
    state: async () => state,
  });
  onTestFinished(() => app.close());
  expect((await app.inject("/")).body).toContain(
    '<p>Things run here.</p><p class="state good">It is ready.</p><p>Next: &#60;sign in&#62;.</p>',
  );
  state = { isReady: false, text: "It is not ready: {problem}.", problem: "<full>", next };
  expect((await app.inject("/")).body).toContain(
    '<p class="state bad">It is not ready: &#60;full&#62;.</p>',
  );
});
