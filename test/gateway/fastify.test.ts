import { once } from "node:events";
import { get } from "node:http";
import { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { Code, ConnectError, createContextKey, createContextValues } from "@connectrpc/connect";
import { type FastifyInstance, type FastifyServerOptions, fastify } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { callKey } from "../../src/gateway/call.ts";
import { restHandler } from "../../src/gateway/fetch.ts";
import {
  frameworkErrors,
  type RestGatewayOptions,
  restGateway,
} from "../../src/gateway/gateway.ts";
import type { Method } from "../../src/gateway/method.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo, streaming, unary } from "./gateway-server.ts";
import type { Ask } from "./mount.ts";
import { type Handle, serviceRoutes, WAYS } from "./ways.ts";

const same: Handle = (text) => text;

/** An application that is closed after the test. */
function application(options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify(options) as FastifyInstance;
  onTestFinished(() => app.close());
  return app;
}

const listen = (app: FastifyInstance) => app.listen({ host: "127.0.0.1", port: 0 });

/** Requests by Fastify's `inject`, which has no connection. */
function injecting(app: FastifyInstance): Ask {
  return async (path, { method = "GET", headers = {}, body } = {}) => {
    const payload = body instanceof ReadableStream ? Readable.fromWeb(body as never) : body;
    const reply = await app.inject({
      method: method as "GET",
      url: path,
      headers: Object.fromEntries(new Headers(headers)),
      ...(payload === null || payload === undefined ? {} : { payload: payload as Buffer }),
    });
    return new Response(Uint8Array.from(reply.rawPayload), {
      status: reply.statusCode,
      headers: Object.entries(reply.headers).flatMap(([name, value]) =>
        [value].flat().map((one): [string, string] => [name, String(one)]),
      ),
    });
  };
}

describe("by inject, as of serverless adapters,", () => {
  test("every kind of call is answered", async () => {
    const app = application();
    await app.register(restGateway, { routes: serviceRoutes(same) });
    for (const way of WAYS) {
      const { code, words } = await way.call(injecting(app), { text: "a".repeat(3_000) });
      expect([way.name, code, words?.[0]]).toEqual([way.name, undefined, "a".repeat(3_000)]);
    }
  });

  test("a body may be an object, a buffer, or a stream", async () => {
    const app = application();
    await app.register(restGateway, { routes: serviceRoutes(same) });
    const headers = { "content-type": "application/json" };
    for (const payload of [
      { text: "b" },
      Buffer.from('{"text":"b"}'),
      Readable.from(['{"text":"b"}']),
    ]) {
      const chunked = payload instanceof Readable ? { "transfer-encoding": "chunked" } : {};
      const url = "/v1/post";
      const reply = await app.inject({
        method: "POST",
        url,
        headers: { ...headers, ...chunked },
        payload,
      });
      expect([reply.statusCode, reply.json()]).toMatchObject([200, { word: "b" }]);
    }
  });
});

const things = (rpcs: readonly Rpc[]): Method[] => defineRpcs(rpcs).map(echo);

const ROOTED = things([
  { name: "Root", http: { get: "/", responseBody: "word" } },
  { name: "Literal", http: { get: "/v1/things", responseBody: "word" } },
  { name: "Variable", http: { get: "/v1/things/{text}", responseBody: "word" } },
  { name: "Post", http: { post: "/v1/things", body: "*", responseBody: "word" } },
]);

/** Prefix, and a path before the paths of the rules. */
const PREFIXES: readonly [string, string][] = [
  ["", ""],
  ["/", ""],
  ["/api", "/api"],
  ["/api/", "/api"],
  ["/a/b/", "/a/b"],
  ["/t/:id", "/t/any%20one"],
  ["/t/:id/", "/t/7"],
  ["/caf\u00e9", "/caf%C3%A9"],
];

describe("a prefix of any form", () => {
  const MOUNTED: readonly [string, (prefix: string) => Promise<Ask>][] = [
    [
      "of the plugin",
      async (prefix) => {
        const app = application();
        await app.register(restGateway, { methods: ROOTED, prefix });
        return injecting(app);
      },
    ],
    [
      "of a plugin around it",
      async (prefix) => {
        const app = application();
        const outer = async (inner: FastifyInstance) => {
          await inner.register(restGateway, { methods: ROOTED });
        };
        await app.register(outer, { prefix });
        return injecting(app);
      },
    ],
    [
      "of restHandler",
      async (prefix) => {
        const handle = restHandler({ methods: ROOTED, prefix });
        return (path, init) => handle(new Request(`http://localhost${path}`, init));
      },
    ],
  ];

  test.each(
    MOUNTED.flatMap(([name, mount]) => PREFIXES.map((one) => [name, ...one, mount] as const)),
  )("%s: %s", async (_name, prefix, before, mount) => {
    const ask = await mount(prefix);
    for (const [path, status] of [
      ["/v1/things", 200],
      ["/v1/things/a", 200],
      ["/v1/things/a?small=1", 200],
      ["/v1/things/a/b", 404],
      ["/v1", 404],
      ["/", 200],
      ["/test.v1.ThingService/Literal", 405],
    ] as const) {
      const reply = await ask(`${before}${path}`);
      expect([path, reply.status]).toEqual([path, status]);
    }
    const refused = await ask(`${before}/v1/things/a`, { method: "PUT" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    if (before === "") return;
    expect((await ask("/v1/things")).status).toBe(404);
    expect((await ask(`${before}x/v1/things`)).status).toBe(before.startsWith("/t/") ? 200 : 404);
  });

  test("of restHandler without a slash at its beginning", async () => {
    const handle = restHandler({ methods: ROOTED, prefix: "api" });
    expect((await handle(new Request("http://localhost/api/v1/things/a"))).status).toBe(200);
    expect((await handle(new Request("http://localhost/v1/things/a"))).status).toBe(404);
  });
});

describe("options of Fastify's router hold for every path", () => {
  const CASES: readonly [string, object, readonly (readonly [string, number])[]][] = [
    [
      "none",
      {},
      [
        ["/v1/things/", 404],
        ["/v1/things/a/", 404],
        ["//v1//things/a", 404],
        ["/V1/things/a", 404],
      ],
    ],
    [
      "ignoreTrailingSlash",
      { ignoreTrailingSlash: true },
      [
        ["/v1/things/", 200],
        ["/v1/things/a/", 200],
      ],
    ],
    [
      "ignoreDuplicateSlashes",
      { ignoreDuplicateSlashes: true },
      [
        ["//v1//things", 200],
        ["//v1///things//a", 200],
      ],
    ],
    [
      "caseSensitive",
      { caseSensitive: false },
      [
        ["/V1/Things", 200],
        ["/V1/THINGS/Abc", 200],
        ["/V1/THINGS/Abc:GO", 200],
      ],
    ],
  ];
  const methods = [
    ...ROOTED,
    ...things([{ name: "Go", http: { get: "/v1/things/{text}:go", responseBody: "word" } }]),
  ].filter(({ desc }, index, all) => all.findIndex((one) => one.desc.name === desc.name) === index);

  test.each(CASES)("%s", async (_name, routerOptions, paths) => {
    for (const prefix of ["", "/api/"]) {
      const app = application({ routerOptions });
      await app.register(restGateway, { methods, prefix, connect: false, grpcWeb: false });
      for (const [path, status] of paths) {
        const reply = await app.inject(`${prefix.slice(0, -1)}${path}`);
        expect([path, reply.statusCode]).toEqual([path, status]);
      }
    }
  });

  test("the letters of a variable stay as they are", async () => {
    const app = application({ routerOptions: { caseSensitive: false } });
    await app.register(restGateway, { methods: ROOTED });
    expect(JSON.parse((await app.inject("/V1/THINGS/AbC")).json())).toEqual({ text: "AbC" });
  });
});

describe("routes", () => {
  const [read] = things([{ name: "Get", http: { get: "/v1/{text}/a", responseBody: "word" } }]);
  const [write] = things([{ name: "Get", http: { post: "/v1/{text}/b", body: "*" } }]);
  const [profile] = things([
    { name: "Get", http: { get: "/{text}/profile", responseBody: "word" } },
  ]);
  const one = (method: Method | undefined): RestGatewayOptions => ({
    methods: method === undefined ? [] : [method],
    connect: false,
    grpcWeb: false,
  });

  test("are those of the rules, and one for other methods; generators of documents skip them", async () => {
    const app = application();
    const routes: string[] = [];
    app.addHook("onRoute", ({ method, url, schema }) => {
      expect(schema).toEqual({ hide: true });
      routes.push(...[method].flat().map((name) => `${name} ${url}`));
    });
    await app.register(restGateway, one(read));
    const others = app.supportedMethods.flatMap((name) => [`${name} /`, `${name} /*`]);
    expect(routes.sort()).toEqual(["GET /v1/*", "HEAD /v1/*", ...others].sort());
  });

  test("stand beside those of the application, also on the same paths", async () => {
    const app = application();
    app.post("/v1/:id/a", () => "own");
    app.get("/v1/*", () => "rest of the application");
    app.get("/*", () => "page");
    app.options("*", () => "cors");
    await app.register(restGateway, one(read));
    await app.register(restGateway, one(write));
    app.put("/v1/x/b", () => "own");
    const answers = async (method: string, url: string) => {
      const reply = await app.inject({ method: method as "GET", url });
      return [reply.statusCode, reply.headers.allow ?? reply.body];
    };
    expect(await answers("GET", "/v1/x/a")).toEqual([200, '"{\\"text\\":\\"x\\"}"']);
    expect(await answers("POST", "/v1/x/a")).toEqual([200, "own"]);
    expect(await answers("GET", "/v1/x/c")).toEqual([200, "rest of the application"]);
    expect(await answers("GET", "/other")).toEqual([200, "page"]);
    expect(await answers("PUT", "/v1/x/b")).toEqual([200, "own"]);
    expect(await answers("DELETE", "/v1/x/b")).toEqual([405, "POST, OPTIONS"]);
    expect(await answers("PATCH", "/v1/x/a")).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(await answers("OPTIONS", "/elsewhere")).toEqual([200, "cors"]);
    expect(await answers("OPTIONS", "/v1/x/a")).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect(await answers("DELETE", "/elsewhere")).toEqual([
      404,
      expect.stringContaining("not found"),
    ]);
  });

  test.each([
    ["the one after the other", ["a", "b"]],
    ["the other after the one", ["b", "a"]],
  ])("of a gateway with hooks of its own never run without them: %s", async (_name, order) => {
    const app = application();
    const guarded = async (inner: FastifyInstance) => {
      inner.addHook("onRequest", (_request, reply) => reply.code(401).send("who?"));
      await inner.register(restGateway, one(read));
    };
    for (const name of order)
      await app.register(name === "a" ? guarded : restGateway, name === "a" ? {} : one(write));
    expect((await app.inject("/v1/x/a")).statusCode).toBe(401);
    expect((await app.inject({ method: "PUT", url: "/v1/x/a" })).statusCode).toBe(401);
    const posted = await app.inject({ method: "POST", url: "/v1/x/b", payload: {} });
    expect(posted.statusCode).toBe(200);
  });

  test("whose rule begins with a variable stand beside another gateway's", async () => {
    for (const order of [
      [profile, read, write],
      [write, read, profile],
    ]) {
      const app = application();
      for (const method of order) await app.register(restGateway, one(method));
      app.options("*", () => "cors");
      expect((await app.inject("/ada/profile")).statusCode).toBe(200);
      expect((await app.inject("/v1/profile")).statusCode).toBe(200);
      expect((await app.inject("/v1/x/a")).statusCode).toBe(200);
      expect((await app.inject({ method: "POST", url: "/ada/profile" })).statusCode).toBe(405);
    }
  });

  test("of methods that Fastify does not know by itself, or of any method", async () => {
    const app = application();
    const methods = things([
      { name: "Find", http: { custom: { kind: "PROPFIND", path: "/find" } } },
      { name: "Every", http: { custom: { kind: "*", path: "/every" } } },
      { name: "Never", http: { custom: { kind: "NEVERHEARD", path: "/never" } } },
    ]);
    await app.register(restGateway, { methods });
    const status = async (method: string, url: string) =>
      (await app.inject({ method: method as "GET", url })).statusCode;
    expect(await status("PROPFIND", "/find")).toBe(200);
    expect(await status("GET", "/find")).toBe(405);
    expect(await status("DELETE", "/every")).toBe(200);
    expect(await status("OPTIONS", "/every")).toBe(204);
  });
});

describe("a path that is not UTF-8", () => {
  test.each(["/v1/things/%FF", "/v1/things/%E0%A4%A", "/%C0%80", "/v1/things/%"])(
    "is answered in the form of the gateway's errors by frameworkErrors: %s",
    async (path) => {
      const app = application({ frameworkErrors });
      await app.register(restGateway, { methods: ROOTED });
      const reply = await fetch(`${await listen(app)}${path}`);
      expect([reply.status, await reply.json()]).toEqual([
        400,
        { code: Code.InvalidArgument, message: expect.any(String) },
      ]);
      expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
    },
  );
});

describe("bodies that hooks handle", () => {
  test("a body that a hook replaces is the one that is read, also a decompressed one", async () => {
    const app = application();
    app.addHook("preParsing", async (request, _reply, payload) => {
      const pieces: Buffer[] = [];
      for await (const piece of payload) pieces.push(piece as Buffer);
      const bytes = Buffer.concat(pieces);
      if (request.headers["content-encoding"] !== "gzip") return Readable.from([bytes]);
      // As @fastify/compress does.
      const plain = Readable.from([gunzipSync(bytes)]).pause();
      return Object.assign(plain, { receivedEncodedLength: bytes.length });
    });
    await app.register(restGateway, { routes: serviceRoutes(same) });
    const headers = { "content-type": "application/json" };
    const plain = { method: "POST", url: "/v1/post", headers, payload: '{"text":"a"}' } as const;
    expect((await app.inject(plain)).json()).toMatchObject({ word: "a" });
    const gzip = { ...headers, "content-encoding": "gzip" };
    const reply = await app.inject({ ...plain, headers: gzip, payload: gzipSync('{"text":"b"}') });
    expect(reply.json()).toMatchObject({ word: "b" });
  });

  test("a body that a hook cannot read is refused with the hook's error", async () => {
    const app = application();
    app.addHook("preParsing", async () => {
      const broken = new Readable({ read: () => undefined });
      const error = Object.assign(new Error("not valid gzip"), { statusCode: 400 });
      setImmediate(() => broken.destroy(error));
      return broken;
    });
    await app.register(restGateway, { routes: serviceRoutes(same) });
    const headers = { "content-type": "application/json" };
    for (const url of ["/v1/post", "/v1/send", "/test.v1.ThingService/Post"]) {
      const reply = await app.inject({ method: "POST", url, headers, payload: "{}" });
      expect([url, reply.statusCode]).toEqual([url, 400]);
    }
  });

  test("a body that a hook has read and not passed on is an error that the log explains", async () => {
    const lines: string[] = [];
    const app = application({
      logger: { stream: { write: (line: string) => void lines.push(line) } },
    });
    app.addHook("preValidation", async (request) => {
      for await (const _ of request.raw);
    });
    await app.register(restGateway, { routes: serviceRoutes(same) });
    const headers = { "content-type": "application/json" };
    const url = `${await listen(app)}/v1/post`;
    const reply = await fetch(url, { method: "POST", headers, body: "{}" });
    expect(reply.status).toBe(500);
    expect(lines.join("")).toContain("the body was read before the gateway");
  });
});

describe("an error that is masked", () => {
  const broken: Handle = () => {
    throw new TypeError("of the handler");
  };

  test.each(WAYS.map((way) => [way.name, way] as const))(
    "is in Fastify's log with its cause: %s",
    async (_name, way) => {
      const lines: { level: number; err?: { message: string; stack: string }; reqId: string }[] =
        [];
      const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
      const app = application({ logger: { level: "error", stream } });
      await app.register(restGateway, { routes: serviceRoutes(broken) });
      const { code, message } = await way.call(injecting(app));
      expect([code, message]).toEqual([Code.Internal, "internal error"]);
      expect(lines).toEqual([
        expect.objectContaining({ err: expect.objectContaining({ message: "of the handler" }) }),
      ]);
      expect(lines[0]?.err?.stack).toContain("fastify.test.ts");
    },
  );

  test("is given to `report` instead, if that is there", async () => {
    const seen: unknown[] = [];
    const app = application();
    const report: RestGatewayOptions["report"] = (error, { id }) =>
      void seen.push([String(error), id]);
    await app.register(restGateway, { routes: serviceRoutes(broken), report });
    await app.inject("/v1/get/a");
    expect(seen).toEqual([["TypeError: of the handler", "req-1"]]);
  });
});

describe("context values", () => {
  const key = createContextKey("none");

  test("of a request reach interceptors and handlers, over every kind of call", async () => {
    const app = application();
    const seen: unknown[] = [];
    const shared = createContextValues().set(key, "shared");
    await app.register(restGateway, {
      routes: serviceRoutes((text, { values }) => {
        seen.push(values.get(key), values.get(callKey)?.header?.("x-id"));
        return text;
      }),
      interceptors: [
        (next) => (request) => {
          seen.push(request.contextValues.get(key));
          return next(request);
        },
      ],
      contextValues: ({ headers }) =>
        headers["x-id"] === "s" ? shared : createContextValues().set(key, String(headers["x-id"])),
    });
    for (const way of WAYS)
      for (const id of ["1", "s"]) {
        const expected = id === "s" ? "shared" : id;
        await way.call(injecting(app), { headers: { "x-id": id } });
        expect([way.name, ...seen.splice(0)]).toEqual([way.name, expected, expected, id]);
      }
    // The call is not set in values that calls share.
    expect(shared.get(callKey)).toBeUndefined();
  });
});

describe("when the application closes", () => {
  const [events, wait] = defineRpcs([
    { name: "Events", http: { get: "/events" }, rest: { reply: "REPLY_EVENTS" }, streams: "reply" },
    { name: "Wait", http: { get: "/wait" } },
  ]);
  const never = () => new Promise<never>(() => undefined);
  async function* silent() {
    yield await never();
  }

  test.each([
    ["one that its rule makes a stream of events", "/events", {}],
    ["one that the client asks for", "/lines", { accept: "text/event-stream" }],
  ])("an open stream of server-sent events ends: %s", async (_name, path, headers) => {
    const [lines] = defineRpcs([{ name: "Lines", http: { get: "/lines" }, streams: "reply" }]);
    const app = fastify();
    const methods = [events, lines].flatMap((desc) => (desc ? [streaming(desc, silent)] : []));
    await app.register(restGateway, { methods, streams: { patience: 1 } });
    // A kept connection would hold up the end of the server.
    const request = get(`${await listen(app)}${path}`, { headers, agent: false });
    const [response] = await once(request, "response");
    const received: Buffer[] = [];
    response.on("data", (piece: Buffer) => received.push(piece));
    await Promise.all([once(response, "end"), app.close()]);
    expect(Buffer.concat(received).toString()).toContain("the server is shutting down");
  });

  test.each([undefined, new ConnectError("maintenance", Code.Aborted)])(
    "calls end after shutdownTimeoutMs, with the error %s",
    async (shutdownError) => {
      const app = fastify();
      const begun = Promise.withResolvers<void>();
      const signals: AbortSignal[] = [];
      const routes = serviceRoutes((_text, { signal }) => {
        signals.push(signal);
        begun.resolve();
        return never();
      });
      await app.register(restGateway, { routes, shutdownTimeoutMs: 1, shutdownError });
      const reply = fetch(`${await listen(app)}/v1/get/a`, { headers: { connection: "close" } });
      await begun.promise;
      await Promise.all([reply, app.close()]);
      const code = shutdownError?.code ?? Code.Unavailable;
      expect(await (await reply).json()).toMatchObject({ code });
      expect(signals[0]?.reason).toMatchObject({ code });
    },
  );

  test("calls may end in their own time by default", async () => {
    const app = fastify();
    const [begun, may] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()];
    const method = unary(wait as never, (): never => {
      begun.resolve();
      return may.promise as never;
    });
    await app.register(restGateway, { methods: [method] });
    const reply = fetch(`${await listen(app)}/wait`, { headers: { connection: "close" } });
    await begun.promise;
    const closed = app.close();
    may.resolve({ word: "done" });
    expect(await (await reply).json()).toMatchObject({ word: "done" });
    await closed;
  });
});
