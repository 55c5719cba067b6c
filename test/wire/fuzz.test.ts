import { connect } from "node:net";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { checkReply } from "./rest-case.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender, http2Sender, type SendHttp } from "./transport/http.ts";
import { restRoutes } from "./transport/rest-route.ts";

/** Rounds of each kind. */
const ROUNDS = 150;

const service = startedForAll(startService);

/** Paths that answer at once and do not change the token. */
const paths = [...restRoutes.values()]
  .map(({ path }) => path)
  .filter((path) => !/watch|reset_token|set_|ping/.test(path));

const names = ["group", "groups", "key", "keys", "driver", "page_size", "since", "from", "to"];
const parameter = fc
  .tuple(fc.oneof(fc.constantFrom(...names), fc.string()), fc.oneof(fc.string(), fc.integer()))
  .map(
    ([name, value]) =>
      `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(`${value}`.toWellFormed())}`,
  );
const query = fc.oneof(
  fc.array(parameter, { maxLength: 5 }).map((all) => all.join("&")),
  // Visible ASCII unescaped, with broken escapes in it.
  fc.string({ unit: fc.constantFrom(..."%zf0&=+,;#?[]\\\"'<>|^`{}") }),
);
const item = fc.record(
  {
    key: fc.oneof(
      fc.string(),
      fc.constantFrom("site_title", "version", "hide_files"),
      fc.anything(),
    ),
    value: fc.oneof(fc.string(), fc.jsonValue()),
    group: fc.oneof(fc.integer(), fc.jsonValue()),
    flag: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.jsonValue()),
    type: fc.oneof(fc.constantFrom("string", "number", "select", "bool", "text"), fc.jsonValue()),
    options: fc.string(),
    expected_etag: fc.jsonValue(),
    etag: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const body = fc.oneof(
  fc.constant(undefined),
  fc.array(item, { maxLength: 4 }).map((items) => JSON.stringify(items)),
  fc.json(),
  fc.string(),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);
const request = fc.record({
  path: fc.constantFrom(...paths),
  query,
  body,
  method: fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
  type: fc.constantFrom("application/json", "application/json;charset=x", "text/plain", "", "a"),
  token: fc.constantFrom(TOKEN, `Bearer ${TOKEN}`, "", "nonsense"),
  etag: fc.constantFrom(undefined, "*", '"x"', 'W/"x-1"', "\u00ff"),
});
type Fuzzed = typeof request extends fc.Arbitrary<infer T> ? T : never;

async function answersInOrder(send: SendHttp, one: Fuzzed): Promise<void> {
  const headers = {
    authorization: one.token,
    "content-type": one.type,
    ...(one.etag === undefined ? {} : { "if-match": one.etag, "if-none-match": one.etag }),
  };
  const path = `${one.path}?${one.query.split("#")[0]}`;
  const reply = await send(path, { method: one.method, body: one.body, headers });
  checkReply(reply);
  // A preflight, or a reply that the client has already, has no body.
  if (reply.status === 204 || reply.status === 304) return;
  const { code, message, data } = reply.json as Record<string, unknown>;
  expect(code).toBeTypeOf("number");
  expect(code, `${message}`).not.toBe(500);
  expect(message).toBeTypeOf("string");
  expect(data).toBeDefined();
  expect([200, code]).toContain(reply.status);
}

test.each(["HTTP/1.1", "HTTP/2"])(
  "any request on a REST path over %s is answered with an envelope, never with an internal error",
  async (version) => {
    const http2 = http2Sender(service.port);
    const send = version === "HTTP/2" ? http2.send : http1Sender(service.port);
    await fc.assert(
      fc.asyncProperty(request, (one) => answersInOrder(send, one)),
      { numRuns: ROUNDS },
    );
    http2.close();
  },
);

test("any path is answered with an envelope", async () => {
  const send = http1Sender(service.port);
  const path = fc.string({ unit: fc.constantFrom(..."/.%2aping:~*") }).map((text) => `/${text}`);
  await fc.assert(
    fc.asyncProperty(path, async (one) => {
      const reply = await send(one, { headers: { authorization: TOKEN } });
      checkReply(reply);
      // Except the root page and /ping, also with a slash at the end.
      if (/^\/(?:\/|ping\/?)?$/.test(one)) return;
      expect(reply.json, one).toMatchObject({ code: reply.status, data: null });
      expect([400, 404], one).toContain(reply.status);
    }),
    { numRuns: ROUNDS },
  );
});

test("bytes that are not HTTP end only their own connection", async () => {
  const start = fc.constantFrom("", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PR");
  const bytes = fc.tuple(start, fc.uint8Array({ maxLength: 200 }));
  await fc.assert(
    fc.asyncProperty(bytes, async ([head, tail]) => {
      await new Promise<void>((resolve) => {
        const socket = connect(service.port, "127.0.0.1", () => {
          socket.end(Buffer.concat([Buffer.from(head), Buffer.from(tail)]));
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve());
        socket.resume();
      });
    }),
    { numRuns: ROUNDS },
  );
  expect((await http1Sender(service.port)("/ping")).text).toBe("pong");
});

test("any bytes as a gRPC message are answered with a status", async () => {
  const client = new Client(`127.0.0.1:${service.port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", TOKEN);
  const methods = [...SettingService.methods, ...DriverService.methods].filter(
    ({ methodKind, name }) => methodKind === "unary" && !/Token|Aria2|Qbit/.test(name),
  );
  const same = (bytes: Buffer): Buffer => bytes;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), fc.uint8Array(), async (method, bytes) => {
      const path = `/${method.parent.typeName}/${method.name}`;
      const code = await new Promise<number>((resolve) => {
        const message = Buffer.from(bytes);
        client.makeUnaryRequest(path, same, same, message, metadata, (error) =>
          resolve(error?.code ?? 0),
        );
      });
      expect(code).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: ROUNDS },
  );
  client.close();
});

test("no request caused an internal error, and the settings are unchanged", async () => {
  expect(service.logLines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  const headers = { authorization: TOKEN };
  const reply = await http1Sender(service.port)("/api/admin/setting/list", { headers });
  expect(reply).toMatchObject({ status: 200, json: { code: 200 } });
});
