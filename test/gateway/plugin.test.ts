import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import helmet from "@fastify/helmet";
import rateLimit from "@fastify/rate-limit";
import { fastify } from "fastify";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { restGateway } from "../../src/gateway/gateway.ts";
import { RestDialect } from "../../src/gateway/rest/rest.ts";
import { DISCARDING } from "../../src/transport/body.ts";
import { startedForAll } from "../started.ts";
import { defineRpcs } from "./contract.ts";
import { echo, echoed, send } from "./gateway-server.ts";

const rest = { reply: "REPLY_ENVELOPE" };

const methods = defineRpcs([
  { name: "Get", http: { get: "/get", responseBody: "word" }, rest },
  { name: "Post", http: { post: "/post", body: "*", responseBody: "word" }, rest },
  { name: "Bare", http: { get: "/bare/{text}" } },
]).map(echo);

const CONNECT = "/test.v1.ThingService/Get";
const json = { "content-type": "application/json" };
const grpcWeb = { "content-type": "application/grpc-web+proto" };
/** An empty message with its gRPC-Web prefix. */
const EMPTY = Buffer.alloc(5);

/**
 * One request of each kind to an application with the gateway: name, method, path, headers, body and
 * status. Errors in the envelope have status 200.
 */
const KINDS = [
  ["REST read", "GET", "/get?text=a", {}, undefined, 200],
  ["REST write", "POST", "/post", json, "{}", 200],
  ["REST with another method", "PUT", "/get", {}, undefined, 405],
  ["REST with a body that is not JSON", "POST", "/post", json, "{", 200],
  ["Connect", "POST", CONNECT, json, "{}", 200],
  ["Connect with an unknown codec", "POST", CONNECT, { "content-type": "x/y" }, "{}", 415],
  ["gRPC-Web", "POST", CONNECT, grpcWeb, EMPTY, 200],
  ["a route of the application", "GET", "/own", {}, undefined, 200],
  ["an unknown path", "GET", "/nope", {}, undefined, 404],
] as const;

const apps: ReturnType<typeof fastify>[] = [];

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

/** A foreign application with the gateway among its plugins. */
function application() {
  const app = fastify();
  apps.push(app);
  app.get("/own", () => ({ own: true }));
  return app;
}

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** Listens. @returns the port. */
async function listen(app: ReturnType<typeof fastify>): Promise<number> {
  return Number(new URL(await app.listen(LOOPBACK)).port);
}

test("a foreign hook receives every kind of request, and its headers are on every reply", async () => {
  const app = application();
  const seen: string[] = [];
  const ended: string[] = [];
  app.addHook("onRequest", (request, reply, done) => {
    seen.push(`${request.method} ${request.url}`);
    reply.header("x-hook", "seen");
    done();
  });
  app.addHook("onResponse", (request, _reply, done) => {
    ended.push(`${request.method} ${request.url}`);
    done();
  });
  await app.register(restGateway, { methods });
  const port = await listen(app);
  for (const [name, method, path, headers, body, status] of KINDS) {
    const reply = await send(port, path, { method, headers, body });
    expect([name, reply.status, reply.headers["x-hook"]]).toEqual([name, status, "seen"]);
  }
  const all = KINDS.map(([, method, path]) => `${method} ${path}`);
  expect(seen).toEqual(all);
  expect(ended).toEqual(all);
});

test("a foreign plugin, a rate limit, applies to every kind of request", async () => {
  const app = application();
  await app.register(rateLimit, { global: true, max: 1, timeWindow: 60_000 });
  app.get("/limited", () => ({}));
  app.setNotFoundHandler({ preHandler: app.rateLimit() }, (_request, reply) =>
    reply.code(404).send({ message: "nothing here" }),
  );
  await app.register(restGateway, { methods });
  const port = await listen(app);
  for (const [name, method, path, headers, body] of KINDS) {
    if (path === "/own") continue;
    // Each kind counts alone, or together with those before it: the second is always over the
    // limit.
    await send(port, path, { method, headers, body });
    const reply = await send(port, path, { method, headers, body });
    expect([name, reply.status]).toEqual([name, 429]);
  }
});

test.each([
  ["GET", "/get"],
  ["GET", "/bare/a"],
  ["DELETE", "/bare/a"],
])("the rule of a request is searched once: %s %s", async (method, path) => {
  const app = application();
  await app.register(restGateway, { methods });
  const port = await listen(app);
  const search = vi.spyOn(RestDialect.prototype, "find");
  onTestFinished(() => search.mockRestore());
  await send(port, path, { method });
  expect(search).toHaveBeenCalledTimes(1);
});

test("a hook that changes the URL or the method changes the call", async () => {
  const app = application();
  app.addHook("onRequest", async ({ raw, headers }) => {
    if (headers["x-url"]) raw.url = String(headers["x-url"]);
    if (headers["x-method"]) raw.method = String(headers["x-method"]);
  });
  await app.register(restGateway, { methods });
  const port = await listen(app);
  const ask = (headers: Record<string, string>) => send(port, "/bare/a?text=b", { headers });
  const answered = async (headers: Record<string, string>) =>
    Reflect.get((await ask(headers)).json as object, "word");
  expect(await answered({})).toBe('{"text":"a"}');
  expect(await answered({ "x-url": "/bare/c" })).toBe('{"text":"c"}');
  expect(echoed(await ask({ "x-url": "/get?text=d" }))).toEqual({ text: "d" });
  expect((await ask({ "x-url": "/nope" })).status).toBe(404);
  expect((await ask({ "x-method": "DELETE" })).status).toBe(405);
});

test.each([
  ["Connect with an unknown codec", CONNECT, 415],
  ["REST with too long a body", "/post", 413],
])(
  "over HTTP/2 a client that stalls after an early reply keeps no stream: %s",
  async (_, path, status) => {
    const app = fastify({ http2: true });
    await app.register(restGateway, { methods, bodyLimit: () => 3 });
    const session = connectHttp2(await app.listen(LOOPBACK));
    const type = status === 415 ? "x/y" : "application/json";
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": type });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    stream.resume().write('{"text":');
    const closed = once(stream, "close");
    const [head] = (await once(stream, "response")) as [Record<string, unknown>];
    vi.advanceTimersByTime(DISCARDING);
    await closed;
    expect([head[":status"], stream.rstCode]).toEqual([status, 0]);
    session.destroy();
    await app.close();
  },
);

describe("over HTTP/2", () => {
  const session = startedForAll(async () => {
    const app = fastify({ http2: true });
    await app.register(restGateway, { methods });
    const client = connectHttp2(await app.listen(LOOPBACK));
    const stop = async () => {
      client.destroy();
      await app.close();
    };
    return { request: client.request.bind(client), stop };
  });

  test.each([
    ["a read", "GET", "/get?text=a", 200, /"data":"{\\"text\\":\\"a\\"}"/],
    ["HEAD", "HEAD", "/get", 200, /^$/],
    ["another method", "DELETE", "/get", 405, /"code":12/],
    ["unescaped characters, as UTF-8", "GET", "/get?text=ü+%C3%BC+你", 200, /ü ü 你/],
    ["bytes that are not UTF-8", "GET", Buffer.from("/get?text=\xfc", "latin1"), 200, /"code":400/],
  ] as const)("%s is answered", async (_name, method, path, status, body) => {
    const stream = session.request({
      ":method": method,
      ":path": Buffer.from(path).toString("latin1"),
    });
    const [headers] = await once(stream, "response");
    const text = Buffer.concat(await stream.toArray()).toString();
    expect([headers[":status"], text]).toEqual([status, expect.stringMatching(body)]);
  });
});

test("hooks of an application run in their order around every call", async () => {
  const app = application();
  const order: string[] = [];
  for (const name of ["onRequest", "preParsing", "preValidation", "preHandler"] as const)
    app.addHook(name, async () => void order.push(name));
  app.addHook("onSend", async () => void order.push("onSend"));
  app.addHook("onResponse", async (_request, reply) => {
    order.push(`onResponse after ${reply.elapsedTime > 0 ? "some" : "no"} time`);
  });
  await app.register(restGateway, { methods });
  const port = await listen(app);
  for (const [path, headers] of [
    ["/post", json],
    [CONNECT, json],
    [CONNECT, grpcWeb],
  ] as const) {
    const body = headers === json ? "{}" : EMPTY;
    expect((await send(port, path, { method: "POST", headers, body })).status).toBe(200);
    await expect.poll(() => order).toHaveLength(5);
    // The gateway writes its replies itself: onSend is for replies of the application.
    expect(order.splice(0)).toEqual([
      "onRequest",
      "preParsing",
      "preValidation",
      "preHandler",
      "onResponse after some time",
    ]);
  }
});

test("headers of a foreign plugin, helmet, are on every kind of reply", async () => {
  const app = application();
  await app.register(helmet);
  await app.register(restGateway, { methods });
  const port = await listen(app);
  for (const [name, method, path, headers, body, status] of KINDS) {
    const reply = await send(port, path, { method, headers, body });
    expect([name, reply.status, reply.headers["x-content-type-options"]]).toEqual([
      name,
      status,
      "nosniff",
    ]);
    expect(reply.headers["content-security-policy"], name).toContain("default-src");
  }
});

test("a malformed Content-Type is refused after the admission of the call", async () => {
  const app = application();
  const admitted: string[] = [];
  await app.register(restGateway, {
    methods,
    admit: (call) => {
      admitted.push(call.method.name);
      if (call.header("authorization") === undefined)
        throw new ConnectError("no token", Code.Unauthenticated);
    },
  });
  const port = await listen(app);
  const headers = { "content-type": "not a type" };
  const refused = await send(port, "/post", { method: "POST", headers, body: "{}" });
  expect(refused.json).toMatchObject({ code: 401 });
  const known = { ...headers, authorization: "x" };
  const malformed = await send(port, "/post", { method: "POST", headers: known, body: "{}" });
  expect([malformed.status, admitted]).toEqual([415, ["Post", "Post"]]);
});

describe("a client that waits for 100 Continue gets it once", () => {
  test.each([
    ["from Node", false],
    ["from the gateway, if the server leaves 100 Continue to its handlers", true],
  ])("%s", async (_name, isLeftToHandlers) => {
    const app = application();
    await app.register(restGateway, { methods });
    const port = await listen(app);
    if (isLeftToHandlers)
      app.server.on("checkContinue", (request, response) =>
        app.server.emit("request", request, response),
      );
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes;
    });
    const head = "POST /post HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\n";
    socket.write(`${head}content-type: application/json\r\ncontent-length: 2\r\n\r\n`);
    await once(socket, "data");
    socket.write("{}");
    await once(socket, "close");
    expect(received.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 100", "HTTP/1.1 200"]);
  });

  test("over HTTP/2", async () => {
    const app = fastify({ http2: true });
    onTestFinished(async () => void (await app.close()));
    await app.register(restGateway, { methods });
    const session = connectHttp2(await app.listen(LOOPBACK));
    const stream = session.request({ ":method": "POST", ":path": "/post", expect: "100-continue" });
    let continued = 0;
    stream.on("continue", () => {
      continued += 1;
      if (continued === 1) stream.end("{}");
    });
    const [headers] = await once(stream, "response");
    stream.resume();
    await once(stream, "close");
    session.close();
    expect([headers[":status"], continued]).toEqual([200, 1]);
  });
});
