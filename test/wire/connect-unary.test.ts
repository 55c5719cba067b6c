import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";
import { type HttpReply, type HttpRequest, http1Sender, http2Sender } from "./transport/http.ts";

const PUBLIC = "/mooring.v1.PublicService/GetPublicSettings";
const ONE = "/mooring.v1.SettingService/GetSetting";
const LIST = "/mooring.v1.SettingService/ListSettings";
const SAVE = "/mooring.v1.SettingService/SaveSettings";
const ADMIN = { authorization: TOKEN };

/** Calls and their bodies; the Connect library answers the same path when it has a query. */
const calls: readonly (readonly [name: string, path: string, request: HttpRequest])[] = [
  ["a read", PUBLIC, json("{}")],
  ["a read with the protocol's version", PUBLIC, json("{}", { "connect-protocol-version": "1" })],
  ["a read in bytes", PUBLIC, bytes("")],
  ["a read with a request in bytes", ONE, bytes("\n\x04logo", ADMIN)],
  ["a long list", LIST, json("{}", ADMIN)],
  ["a long list in bytes", LIST, bytes("", ADMIN)],
  ["a page of another origin", PUBLIC, json("{}", { origin: "https://a.example" })],
  ["gzip", LIST, json("{}", { ...ADMIN, "accept-encoding": "gzip, deflate, br" })],
  ["brotli", LIST, json("{}", { ...ADMIN, "accept-encoding": "br" })],
  ["bytes in gzip", LIST, bytes("", { ...ADMIN, "accept-encoding": "gzip" })],
  ["gzip of a short reply", ONE, json('{"key":"logo"}', { ...ADMIN, "accept-encoding": "gzip" })],
  ["an unknown coding", LIST, json("{}", { ...ADMIN, "accept-encoding": "zstd" })],
  ["no token", ONE, json('{"key":"logo"}')],
  ["a wrong token", ONE, json('{"key":"logo"}', { authorization: "Bearer wrong" })],
  ["an unknown setting", ONE, json('{"key":"nope"}', ADMIN)],
  ["no body", ONE, { method: "POST", headers: { "content-type": "application/json", ...ADMIN } }],
  ["a body that is not JSON", ONE, json("{", ADMIN)],
  ["JSON of another type", ONE, json('{"key":1}', ADMIN)],
  ["bytes that are not a message", ONE, bytes("\xff\xff\xff\x01", ADMIN)],
  ["an error with details", SAVE, json('{"settings":[{"key":"default_page_size"}]}', ADMIN)],
  ["an error with details, in bytes", SAVE, bytes("\n\x03\n\x01a\n\x03\n\x01a", ADMIN)],
];

function json(body: string, headers: Record<string, string> = {}): HttpRequest {
  return { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
}

function bytes(body: string, headers: Record<string, string> = {}): HttpRequest {
  const all = { "content-type": "application/proto", ...headers };
  return { method: "POST", body: Buffer.from(body, "latin1"), headers: all };
}

describe.each([
  ["HTTP/1.1", {}],
  ["HTTP/1.1 with listed origins", { MOORING_CORS_ORIGINS: "https://a.example" }],
  ["HTTP/2", {}],
])("a plain call over %s is answered like the library does", (version, env) => {
  const service = startedForAll(() => startService({ env }));
  let close = (): void => {};
  let send = http1Sender(0);

  beforeAll(async () => {
    if (version === "HTTP/2") ({ send, close } = http2Sender(service.port));
    else send = http1Sender(service.port);
  });

  afterAll(() => close());

  test.each(calls)("%s", async (_name, path, request) => {
    const [plain, library] = [await send(path, request), await send(`${path}?`, request)];
    expect(comparable(plain)).toEqual(comparable(library));
    expect(plain.headers["x-request-id"]).toMatch(/^[\w.:/+=-]+$/);
  });

  test("a list that needs several ticks to encode", async () => {
    const settings = Array.from({ length: 900 }, (_, at) => ({ key: `wire_${at}`, value: "“v”" }));
    expect(await send(SAVE, json(JSON.stringify({ settings }), ADMIN))).toMatchObject({
      status: 200,
    });
    for (const request of [json("{}", ADMIN), json("{}", { ...ADMIN, "accept-encoding": "gzip" })])
      expect(comparable(await send(LIST, request))).toEqual(
        comparable(await send(`${LIST}?`, request)),
      );
    const [plain, library] = [
      await send(LIST, bytes("", ADMIN)),
      await send(`${LIST}?`, bytes("", ADMIN)),
    ];
    expect(plain.headers["content-length"]).toBe(library.headers["content-length"]);
  });

  test("a body over the limit", async () => {
    const request = json(`"${"x".repeat(8 * 1024 * 1024)}"`, ADMIN);
    const { status, json: body } = await send(SAVE, request);
    const library = await send(`${SAVE}?`, request);
    expect(status).toBe(library.status);
    expect(body).toMatchObject({ code: "resource_exhausted" });
    expect(await send(PUBLIC, json("{}"))).toMatchObject({ status: 200 });
  });

  test("a cached reply is the same the second time", async () => {
    const request = json("{}", { ...ADMIN, "accept-encoding": "gzip" });
    const replies = [await send(LIST, request), await send(LIST, request)].map(comparable);
    expect(replies[1]).toEqual(replies[0]);
  });
});

/** All of a reply except parts that always differ. */
function comparable({ status, headers, text }: HttpReply) {
  const { date, "x-request-id": _id, connection, "keep-alive": _alive, ...others } = headers;
  const names = Object.keys(headers).sort();
  return { status, headers: others, names: names.filter((name) => name !== "keep-alive"), text };
}
