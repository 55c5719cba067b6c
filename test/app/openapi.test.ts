import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { examples } from "../../src/app/documentation.ts";
import { servedServices } from "../../src/app/routes.ts";
import { createMethods } from "../../src/gateway/method.ts";
import { listRoutes } from "../../src/gateway/rest/rest.ts";
import { readComments } from "../../tools/comments.ts";
import { startService, type TestService, TOKEN } from "../wire/service.ts";

interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly parameters: readonly { $ref?: string; name: string; in: string; example?: unknown }[];
  readonly requestBody?: { content: Record<string, { example?: unknown }> };
  readonly responses: Record<
    string,
    { $ref?: string; headers?: object; content?: Record<string, { schema: object }> }
  >;
}

interface Document {
  readonly info: { readonly description: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly responses: Record<
      string,
      { headers: object; content: Record<string, { schema: object }> }
    >;
    readonly parameters: Record<string, { name: string; in: string }>;
    readonly headers: Record<string, { description: string }>;
    readonly schemas: Record<string, object>;
  };
}

const formats = {
  "date-time": true,
  uint32: true,
  int32: true,
  uint64: true,
  int64: true,
} as const;
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats });
const methods = createMethods((router) => {
  for (const each of servedServices) router.service(each, {});
});
const service = { http: undefined as unknown as TestService, document: {} as Document };

beforeAll(async () => {
  service.http = await startService();
  service.document = (await (await get("/openapi.json")).json()) as Document;
  ajv.addVocabulary(["components"]);
  ajv.addSchema({ $id: "document", components: closed(service.document.components) as object });
});
afterAll(() => service.http.stop());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${service.http.port}${path}`, { headers });
}

describe("the OpenAPI document", () => {
  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone({ ...service.document }));
    expect(errors ?? [], JSON.stringify(errors)).toEqual([]);
    expect(valid).toBe(true);
    expect(validator.version).toBe("3.1");
  });

  test("has no name of the code in a description, unless it is marked as code", () => {
    const { info, components, paths } = service.document;
    const texts = JSON.stringify([info, components, paths]).matchAll(
      /"(?:description|summary)":"((?:[^"\\]|\\.)*)"/g,
    );
    const prose = [...texts].map(([, text = ""]) =>
      String(JSON.parse(`"${text}"`)).replaceAll(/`[^`]*`|qBittorrent|gRPC/g, ""),
    );
    expect(prose.length).toBeGreaterThan(1_000);
    expect(prose.filter((text) => /\b[a-z]+[A-Z]/.test(text))).toEqual([]);
  });

  test("has every route of the gateway and no other", () => {
    const documented = Object.entries(service.document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = listRoutes({ methods }).map(({ httpMethod, path }) => `${httpMethod} ${path}`);
    expect(documented.sort()).toEqual([...new Set(served)].sort());
  });

  test("has the current comments of the contract", () => {
    const kept = JSON.parse(readFileSync("src/data/contract-comments.json", "utf8"));
    expect(kept).toEqual(readComments());
  });

  test("has an example for each rpc with required parameters", () => {
    const rpcs = new Set(
      servedServices.flatMap(({ typeName, methods }) =>
        methods.map(({ name }) => `${typeName}.${name}`),
      ),
    );
    expect([...rpcs]).toEqual(expect.arrayContaining(Object.keys(examples)));
    const without = operations().filter(
      ([, { requestBody }]) =>
        requestBody !== undefined && requestBody.content["application/json"]?.example === undefined,
    );
    expect(without.map(([place]) => place)).toEqual([]);
  });
});

function operations(): [string, Operation, string, string][] {
  return Object.entries(service.document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation, string, string] => [
      `${method.toUpperCase()} ${path}`,
      operation,
      method.toUpperCase(),
      path,
    ]),
  );
}

/** Example request of an operation. */
function requestOf([, operation, method, path]: ReturnType<typeof operations>[number]) {
  const query = operation.parameters
    .filter((one) => one.in === "query" && one.example !== undefined)
    .map(({ name, example }) => [name, String(example)]);
  const body = operation.requestBody?.content["application/json"]?.example;
  return {
    url: `${path}${query.length === 0 ? "" : `?${new URLSearchParams(query)}`}`,
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), type: { "content-type": "application/json" } }),
  };
}

/** Headers of every HTTP message. */
const TRANSPORT = ["connection", "content-length", "content-type", "date", "keep-alive"];

/** Checks that each header of a reply is documented for its status. */
function expectHeaders(reply: Response, operation: Operation, place = ""): void {
  const found = operation.responses[String(reply.status)];
  const name = found?.$ref?.split("/").at(-1) ?? "";
  const headers = found?.headers ?? service.document.components.responses[name]?.headers ?? {};
  const documented = Object.keys(headers).map((header) => header.toLowerCase());
  const sent = [...reply.headers.keys()].filter(
    (header) => !TRANSPORT.includes(header) && header !== "transfer-encoding",
  );
  expect(sent.length, place).toBeGreaterThan(0);
  expect(documented, `${place} ${reply.status}`).toEqual(expect.arrayContaining(sent));
}

/** Schemas compiled by their texts; each refers to the components of the document. */
const compiled = new Map<string, ValidateFunction>();
const withId = (schema: string): string => schema.replaceAll('"#/', '"document#/');

/** Checks a reply against the schema of its status and type, without additional members. */
async function expectDocumented(reply: Response, operation: Operation): Promise<unknown> {
  const found = operation.responses[String(reply.status)];
  expect(found, `status ${reply.status}`).toBeDefined();
  expectHeaders(reply, operation);
  const name = found?.$ref?.split("/").at(-1) ?? "";
  const content = found?.content ?? service.document.components.responses[name]?.content ?? {};
  const [type = ""] = (reply.headers.get("content-type") ?? "").split(";");
  expect(Object.keys(content)).toContain(type);
  if (!type.startsWith("application/json")) return reply.text();
  const json: unknown = await reply.json();
  const schema = JSON.stringify(closed(content[type]?.schema));
  const validate = compiled.get(schema) ?? ajv.compile(JSON.parse(withId(schema)));
  compiled.set(schema, validate);
  expect(
    validate(json),
    `${ajv.errorsText(validate.errors)} in ${JSON.stringify(json).slice(0, 300)}`,
  ).toBe(true);
  return json;
}

/** A schema without additional members. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [name, closed(value)]);
  const open = "properties" in schema && !("additionalProperties" in schema);
  return { ...Object.fromEntries(members), ...(open ? { additionalProperties: false } : {}) };
}

describe("the example of each operation", () => {
  test("is answered as documented with the token", async () => {
    const headers = { authorization: TOKEN };
    const codes: Record<string, unknown> = {};
    for (const one of operations()) {
      const [place, operation] = one;
      // It would replace the token for the other examples.
      if (place.endsWith("/reset_token")) continue;
      const { url, type, ...request } = requestOf(one);
      const stop = new AbortController();
      const reply = await fetch(`http://127.0.0.1:${service.http.port}${url}`, {
        ...request,
        headers: { ...headers, ...type },
        signal: stop.signal,
      });
      if (reply.headers.get("content-type") === "text/event-stream") {
        expect(operation.responses["200"]?.content).toHaveProperty("text/event-stream");
        expectHeaders(reply, operation, place);
        stop.abort();
        continue;
      }
      const json = await expectDocumented(reply, operation);
      codes[place] = (json as { code?: number }).code ?? reply.status;
    }
    // Missing parts that the examples need: a download manager, a deprecated setting, a site.
    const failed = Object.entries(codes).filter(([, code]) => code !== 200);
    const ofSites = ["adopt", "check", "compare", "delete", "sync", "update"];
    expect(Object.fromEntries(failed)).toEqual({
      "POST /api/admin/access/principals/disable": 404,
      "POST /api/admin/access/tokens/revoke": 404,
      "POST /api/admin/access/tokens/rotate": 404,
      "POST /api/admin/incident/acknowledge": 404,
      "POST /api/admin/backup/check": 400,
      "POST /api/admin/backup/prune": 400,
      "POST /api/admin/backup/restore": 400,
      "GET /api/admin/incident/get": 404,
      "GET /api/admin/mount/get": 404,
      "POST /api/admin/mount/adopt": 404,
      "POST /api/admin/mount/compare": 404,
      "POST /api/admin/mount/sync": 404,
      "GET /api/admin/rule/get": 404,
      "POST /api/admin/rule/adopt": 404,
      "POST /api/admin/rule/compare": 404,
      "POST /api/admin/rule/sync": 404,
      "POST /api/admin/setting/delete": 404,
      "POST /api/admin/setting/set_aria2": 503,
      "POST /api/admin/setting/set_qbit": 503,
      "POST /api/admin/site/create": 503,
      "GET /api/admin/site/get": 404,
      "GET /api/admin/site/log": 404,
      "GET /api/admin/site/user/list": 404,
      "GET /api/admin/site/user/compare": 404,
      "POST /api/admin/site/user/copy": 404,
      ...Object.fromEntries(
        ["delete", "resend", "test", "update"].map((name) => [
          `POST /api/admin/webhook/${name}`,
          404,
        ]),
      ),
      "GET /api/admin/webhook/deliveries": 404,
      ...Object.fromEntries(ofSites.map((name) => [`POST /api/admin/site/${name}`, 404])),
    });
  });

  test("is answered as documented without the token", async () => {
    for (const one of operations()) {
      const [place, operation] = one;
      if (operation.security !== undefined) continue;
      const { url, type, ...request } = requestOf(one);
      const reply = await fetch(`http://127.0.0.1:${service.http.port}${url}`, {
        ...request,
        ...(type && { headers: type }),
      });
      if (operation.responses["200"]?.content?.["text/event-stream"]) {
        expect(reply.status, place).toBe(401);
        expectHeaders(reply, operation, place);
        await reply.body?.cancel();
        continue;
      }
      expect(await expectDocumented(reply, operation), place).toMatchObject({ code: 401 });
    }
  });

  test("is refused as documented if it is invalid or not JSON", async () => {
    const headers = { authorization: TOKEN, "content-type": "application/json" };
    for (const one of operations()) {
      const [place, operation, method] = one;
      if (operation.requestBody === undefined) continue;
      const { url } = requestOf(one);
      const reply = await fetch(`http://127.0.0.1:${service.http.port}${url}`, {
        method,
        headers,
        body: "[{",
      });
      expect(await expectDocumented(reply, operation), place).toMatchObject({ code: 400 });
      const text = await fetch(`http://127.0.0.1:${service.http.port}${url}`, {
        method,
        headers: { ...headers, "content-type": "text/csv" },
        body: "a,b",
      });
      expect(text.status, place).toBe(415);
      await expectDocumented(text, operation);
    }
  });
});

describe("headers", () => {
  const nameOf = ($ref: string): string => $ref.split("/").at(-1) ?? "";

  test("of all calls are listed at every operation and link to their description", () => {
    const { parameters, headers } = service.document.components;
    for (const [place, { parameters: own, responses }] of operations()) {
      const common = own.flatMap(({ $ref }) => ($ref === undefined ? [] : nameOf($ref)));
      expect(common, place).toEqual([
        "Mooring-At-Least-Revision",
        "Accept-Language",
        "X-Request-Id",
        "Traceparent",
      ]);
      for (const name of common) expect(parameters[name]).toMatchObject({ name, in: "header" });
      expect(responses["200"]?.headers, place).toHaveProperty("Mooring-Stale-Seconds");
    }
    const used = JSON.stringify(service.document).matchAll(/#\/components\/headers\/([\w-]+)/g);
    const names = [...new Set([...used].map(([, name]) => name))].sort();
    expect(names).toEqual(Object.keys(headers).sort());
  });

  test("are sent as documented: compressed, cached, in Chinese, throttled", async () => {
    const headers = { authorization: TOKEN };
    const list = service.document.paths["/api/admin/driver/list"]?.["get"] as Operation;
    const at = "/api/admin/driver/list";
    await get(at, { ...headers, "accept-encoding": "gzip" });
    const chinese = await get(at, { ...headers, "accept-language": "zh-CN" });
    expect(chinese.headers.get("content-language")).toBe("zh-CN");
    expectHeaders(chinese, list, at);
    const etag = (await get(at, headers)).headers.get("etag") ?? "";
    const kept = await get(at, { ...headers, "if-none-match": etag });
    expect(kept.status).toBe(304);
    expectHeaders(kept, list, at);
    await expect
      .poll(async () => {
        const reply = await get(at, { ...headers, "accept-encoding": "gzip" });
        expectHeaders(reply, list, at);
        return reply.headers.get("content-encoding");
      })
      .toBe("gzip");
    const encoded = await fetch(`http://127.0.0.1:${service.http.port}/api/admin/setting/save`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "content-encoding": "compress" },
      body: "[]",
    });
    expect(encoded.status).toBe(415);
    expect(encoded.headers.get("accept-encoding")).toBe("br,gzip");
    expectHeaders(
      encoded,
      service.document.paths["/api/admin/setting/save"]?.["post"] as Operation,
    );
    const own = await startService({ env: { MOORING_WRONG_TOKENS: "1" } });
    onTestFinished(own.stop);
    const replies: Response[] = [];
    for (let sent = 0; sent < 4; sent += 1)
      replies.push(
        await fetch(`http://127.0.0.1:${own.port}${at}`, { headers: { authorization: "wrong" } }),
      );
    expect(replies.at(-1)?.headers.get("retry-after")).toMatch(/^\d+$/);
    for (const reply of replies) expectHeaders(reply, list, at);
  });
});
