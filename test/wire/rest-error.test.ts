import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { exchange } from "./raw/line.ts";
import {
  checkReply,
  posts,
  type RestCase,
  reads,
  rejects,
  runRestCase,
  STATUS_MODES,
} from "./rest-case.ts";
import { startService, type TestService, TOKEN } from "./service.ts";
import { http1Sender, http2Sender, type SendHttp } from "./transport/http.ts";
import { restRoutes } from "./transport/rest-route.ts";

const SAVE = "/api/admin/setting/save";
const DRIVER = "/api/admin/driver/info";
const PUBLIC = "/api/public/settings";
const JSON_TYPE = { "content-type": "application/json" };
const text = (body: string, headers = {}) => ({
  method: "POST",
  body,
  headers: { ...JSON_TYPE, ...headers },
});
const post = (body: unknown, headers = {}) => ({ method: "POST", body, headers });
const MIB = 1024 * 1024;
const uri = "http://127.0.0.1:9";
const title = (value: unknown) => ({ key: "site_title", value });

const cases: readonly RestCase[] = [
  // Malformed JSON, and JSON of the wrong type: each form is in test/gateway/body.test.ts.
  ...posts(SAVE, [
    ["a body that ends too early", '[{"key":', 400, /line 1, column 9/],
    ["bytes that are not UTF-8", Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), 400, /UTF-8/],
    ["endless nesting", "[".repeat(100_000), 400, /JSON|nest|deep/i],
    ["a boolean as a value", [{ key: "a" }, title(true)], 400, /\[1\]\.value: expected a string/],
    ["an object instead of the array", title("x"), 400, /expected an array, got an object/],
    ["a text as a group", [{ key: "a", value: "", group: "x" }], 400, /\[0\]\.group/],
    [
      "unknown members are ignored",
      [{ key: "robots_txt", value: "x", "": 0, index: {}, nonsense: [null] }],
      null,
    ],
  ]),
  ...posts("/api/admin/setting/set_aria2", [
    [
      "a secret of the wrong type is not quoted",
      { uri, secret: ["Secret-array"] },
      400,
      /^(?!.*Secret-array).*secret: expected a string/,
    ],
  ]),
  ...posts("/api/admin/setting/set_qbit", [
    ["a boolean as a seeding time", { url: uri, seedtime: true }, 400, /seedtime/],
  ]),
  ...posts(`${SAVE}?x=1&settings=2&y`, [["unknown parameters are ignored", [], null]]),
  // Paths and methods.
  ...reads(PUBLIC, [
    ["a trailing & and = are ignored", "?&&=&a=&", expect.anything()],
    ["a slash at the end", "/", expect.anything()],
  ]),
  rejects(
    "an unknown path",
    "/api/admin/setting/nope",
    {},
    404,
    /nothing is served at \/api\/admin\/setting\/nope/,
  ),
  rejects("an unknown path, with a body", "/api/nope", post({ a: 1 }), 404, /nothing is served/),
  rejects("a path in other letters", "/API/public/settings", {}, 404, /nothing is served/),
  rejects("two slashes at the end", `${PUBLIC}//`, {}, 404, /nothing is served/),
  rejects("a path with ..", "/api/public/../public/settings", {}, 404, /nothing is served/),
  rejects("GET of a POST path", SAVE, {}, 405, /use POST/, { allow: /^POST/ }),
  rejects("POST of a GET path", "/api/admin/setting/list", post({}), 405, /use GET/, {
    allow: /^GET, HEAD/,
  }),
  rejects("PUT", SAVE, { method: "PUT", body: [] }, 405, /use POST/, { allow: /^POST/ }),
  rejects("DELETE", "/ping", { method: "DELETE" }, 405, /use GET/, { allow: /^GET, POST, HEAD/ }),
  rejects("an unknown method", "/ping", { method: "PROPFIND" }, 405, /use GET/, {
    allow: /^GET/,
  }),
  // Content types.
  rejects(
    "a form",
    SAVE,
    text("a=b", { "content-type": "application/x-www-form-urlencoded" }),
    415,
    /application\/json/,
  ),
  rejects(
    "plain text",
    SAVE,
    text("[]", { "content-type": "text/plain;charset=UTF-8" }),
    415,
    /application\/json/,
  ),
  rejects(
    "a body with an unknown compression",
    SAVE,
    text("[]", { "content-encoding": "compress" }),
    415,
    /compress.* is not supported/,
  ),
  // Sizes.
  rejects(
    "a body over 8 MiB",
    SAVE,
    text(JSON.stringify([{ key: "a", value: "x".repeat(8 * MIB) }])),
    413,
    /larger than 8388608 bytes/,
  ),
  rejects("an endless URL", `${PUBLIC}?${"x".repeat(300_000)}`, {}, 431, /URL and headers are too/),
  rejects(
    "an endless header",
    PUBLIC,
    { headers: { "x-long": "x".repeat(70_000) } },
    431,
    /headers are too large/,
  ),
  ...reads("/api/admin/setting/list", [
    ["too many parameters", `?${"a=1&".repeat(1_001)}`, 400, /1000 parameters/],
  ]),
  // Escapes.
  rejects("a broken escape in the path", "/api/%zz/settings", {}, 400, /check URL/),
  ...reads(DRIVER, [
    ["a broken escape in a value", "?driver=%zz", 400, /driver.*broken % escape/],
    ["an escape that is not UTF-8", "?driver=%ff", 400, /driver.*broken % escape/],
    ["a broken escape in a name", "?%zz=1", 400, /broken % escape/],
    ["a NUL", "?driver=%00", 400, /^driver: must not contain the NUL character$/],
    ["a script is returned as text", "?driver=%3Cscript%3E", 404, /<script>/],
  ]),
];

describe.each(STATUS_MODES)("with MOORING_HTTP_STATUS=%s", (mode) => {
  const service = startedForAll(() => startService({ env: { MOORING_HTTP_STATUS: mode } }));
  let send: SendHttp;

  beforeAll(async () => {
    send = http1Sender(service.port);
  });

  test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, one) =>
    runRestCase(one, send, mode),
  );

  test("a guest gets no details of errors in an admin's request", async () => {
    for (const request of [text("{"), post({ key: 1 }), text("[]", { "content-type": "a/b" })]) {
      const { json } = await send(SAVE, request);
      expect(json).toMatchObject({ code: 401, message: expect.stringContaining("missing") });
    }
  });

  test("HEAD is answered like GET, without a body", async () => {
    for (const { verb, path } of restRoutes.values()) {
      const headers = { authorization: TOKEN };
      const reply = await send(path, { method: "HEAD", headers });
      expect(reply.text).toBe("");
      checkReply(reply);
      if (verb === "POST") expect(reply, path).toMatchObject({ status: 405 });
      else if (!path.endsWith("/watch")) {
        const { status, headers: same } = await send(path, { headers });
        expect(reply.status, path).toBe(status);
        expect(reply.headers["content-type"], path).toBe(same["content-type"]);
      }
    }
  });

  test("every documented path refuses every other method with Allow", async () => {
    const both = ["/ping", "/api/public/settings"];
    for (const path of both)
      expect(await send(path, { method: "POST", body: {} })).toMatchObject({ status: 200 });
    for (const [path, verbs] of verbsByPath())
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter(
        (one) => !verbs.has(one) && !(one === "POST" && both.includes(path)),
      )) {
        const reply = await send(path, { method, headers: { authorization: TOKEN } });
        const { allow } = reply.headers;
        expect(reply, `${method} ${path}`).toMatchObject({ status: 405, json: { code: 405 } });
        for (const verb of verbs) expect(allow, path).toContain(verb);
      }
  });

  test("the id of a request is the client's if it is valid, otherwise the service's own", async () => {
    const own = await send("/ping", { headers: { "x-request-id": "trace-17" } });
    expect(own.headers["x-request-id"]).toBe("trace-17");
    for (const sent of ["a b", "<x>", "x".repeat(200)]) {
      const reply = await send("/ping", { headers: { "x-request-id": sent } });
      expect(reply.headers["x-request-id"]).toMatch(/^[\w-]+-\w+$/);
    }
  });

  test("a request that is not HTTP gets an envelope, too", async () => {
    for (const bytes of ["\r\n\r\nnonsense\r\n\r\n", "GET\r\n\r\n", "GET /ping HTTP/9.9\r\n\r\n"]) {
      const [head, body] = (await exchange(service.port, [bytes])).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 (400|505)/);
      expect(JSON.parse(body ?? "")).toMatchObject({ message: expect.any(String), data: null });
    }
  });
});

describe("over HTTP/2", () => {
  let service: TestService;
  let sender: ReturnType<typeof http2Sender>;
  // HTTP/2 has another limit of headers: a stream above it is refused.
  const shared = cases.filter(({ code }) => code !== 414 && code !== 431);

  beforeAll(async () => {
    service = await startService();
    sender = http2Sender(service.port);
  });

  afterAll(async () => {
    sender.close();
    await service.stop();
  });

  test.each(shared.map((one) => [one.name, one] as const))("%s", (_name, one) =>
    runRestCase(one, sender.send, "envelope"),
  );

  test("endless headers end only their own connection", async () => {
    const other = http2Sender(service.port);
    const headers = { "x-long": "x".repeat(80_000) };
    await expect(other.send("/ping", { headers })).rejects.toThrow();
    other.close();
    expect(await sender.send("/ping")).toMatchObject({ status: 200, text: "pong" });
  });
});

function verbsByPath(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { verb, path } of restRoutes.values())
    found.set(path, (found.get(path) ?? new Set()).add(verb));
  return found;
}
