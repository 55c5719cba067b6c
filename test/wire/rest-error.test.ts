import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import {
  checkReply,
  posts,
  type RestCase,
  reads,
  rejects,
  runRestCase,
  STATUS_MODES,
} from "./rest-case.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender, http2Sender, type SendHttp } from "./transport/http.ts";
import { restRoutes } from "./transport/rest-route.ts";

const SAVE = "/api/admin/setting/save";
const PUBLIC = "/api/public/settings";
const text = (body: string, type = "application/json") => ({
  method: "POST",
  body,
  headers: { "content-type": type },
});

/** One failure of each stage. All forms of each: test/gateway and test/app/client-error.test.ts. */
const cases: readonly RestCase[] = [
  ...posts(SAVE, [["a body that ends too early", '[{"key":', 400, /line 1, column 9/]]),
  ...posts("/api/admin/setting/set_aria2", [
    [
      "a secret of the wrong type is not quoted",
      { uri: "http://127.0.0.1:9", secret: ["Secret-array"] },
      400,
      /^(?!.*Secret-array).*secret: expected a string/,
    ],
  ]),
  ...reads("/api/admin/driver/info", [
    ["a broken escape in a value", "?driver=%zz", 400, /driver.*broken % escape/],
  ]),
  ...reads(PUBLIC, [["a slash at the end", "/", expect.anything()]]),
  rejects("an unknown path", "/api/nope", {}, 404, /nothing is served at \/api\/nope/),
  rejects("GET of a POST path", SAVE, {}, 405, /use POST/, { allow: /^POST/ }),
  rejects("an unknown method", "/ping", { method: "PROPFIND" }, 405, /use GET/, { allow: /^GET/ }),
  rejects("plain text", SAVE, text("[]", "text/plain"), 415, /application\/json/),
  rejects("a broken escape in the path", "/api/%zz/settings", {}, 400, /check URL/),
  rejects("an endless URL", `${PUBLIC}?${"x".repeat(300_000)}`, {}, 431, /URL and headers are too/),
];

describe.each(STATUS_MODES)("with MOORING_HTTP_STATUS=%s", (mode) => {
  const service = startedForAll(() => startService({ env: { MOORING_HTTP_STATUS: mode } }));
  const send: SendHttp = (...sent) => http1Sender(service.port)(...sent);

  test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, one) =>
    runRestCase(one, send, mode),
  );

  test("a guest gets no details of errors in an admin's request", async () => {
    for (const request of [text("{"), text('{"key":1}'), text("[]", "a/b")]) {
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
});

describe("over HTTP/2", () => {
  const service = startedForAll(startService);
  const sender = startedForAll(() => http2Sender(service.port));
  // HTTP/2 has another limit of headers: a stream above it is refused.
  const shared = cases.filter(({ code }) => code !== 431);

  test.each(shared.map((one) => [one.name, one] as const))("%s", (_name, one) =>
    runRestCase(one, sender.send, "envelope"),
  );

  test("endless headers end only their own connection", async () => {
    const other = http2Sender(service.port);
    const headers = { "x-long": "x".repeat(80_000) };
    await expect(other.send("/ping", { headers })).rejects.toThrow("Stream closed with error code");
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
