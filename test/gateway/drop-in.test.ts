// Behaviour on which applications of fastifyConnectPlugin rely, with the same assertions for it and
// for this plugin.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import {
  type CallOptions,
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { type FastifyInstance, type FastifyServerOptions, fastify } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { restGateway } from "../../src/gateway/gateway.ts";
import { defineRpcs, made } from "./contract.ts";
import { callOver, textOf, wordOf } from "./ways.ts";

/** Like the service of Connect's tutorial, with a rpc of each kind that HTTP/1.1 can have. */
const rpcs = defineRpcs([
  { name: "Say", reads: true },
  { name: "Introduce", streams: "reply" },
  { name: "Listen", streams: "request" },
  { name: "Silent" },
]);
const [say, introduce, listen, silent] = rpcs as [DescMethod, DescMethod, DescMethod, DescMethod];
const service = say.parent as DescService;

const sentence = (text: string) => made(say.input, { text });
const answer = (word: string) => made(say.output, { word });

const key = createContextKey("nobody");

type Say = (text: string, context: HandlerContext) => string | Promise<string>;

const reply: Say = (text, { values }) => `${values.get(key)} hears ${text}`;

/** `silent` is not implemented. */
function eliza(say: Say = reply) {
  return {
    say: async (request: Message, context: HandlerContext) =>
      answer(await say(textOf(request), context)),
    async *introduce(request: Message, context: HandlerContext) {
      yield answer(await say(textOf(request), context));
      yield answer("I am Eliza");
    },
    async listen(requests: AsyncIterable<Message>, context: HandlerContext) {
      const words: string[] = [];
      for await (const request of requests) words.push(textOf(request));
      return answer(await say(words.join(" "), context));
    },
  };
}

const routes =
  (say?: Say, options?: object) =>
  (router: ConnectRouter): void =>
    void router.service(service, eliza(say) as never, options);

interface PluginOptions {
  readonly routes: (router: ConnectRouter) => void;
  readonly [name: string]: unknown;
}

type Register = (app: FastifyInstance, options: PluginOptions) => Promise<unknown>;

const PLUGINS: readonly [string, Register][] = [
  [
    "fastifyConnectPlugin",
    async (app, options) => app.register(fastifyConnectPlugin as never, options as never),
  ],
  ["restGateway", async (app, options) => app.register(restGateway, options as never)],
];

function application(options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify({ forceCloseConnections: true, ...options } as object) as FastifyInstance;
  onTestFinished(() => app.close());
  return app;
}

const urlOf = (app: FastifyInstance) => app.listen({ host: "127.0.0.1", port: 0 });

type Transports = readonly [string, (baseUrl: string, options?: object) => Transport][];

const TRANSPORTS: Transports = [
  [
    "Connect, protobuf",
    (baseUrl, more) => createConnectTransport({ baseUrl, httpVersion: "1.1", ...more }),
  ],
  [
    "Connect, JSON",
    (baseUrl, more) =>
      createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, ...more }),
  ],
  ["gRPC-Web", (baseUrl, more) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", ...more })],
];

const call = (
  transport: Transport,
  desc: DescMethod,
  texts: readonly string[],
  options?: CallOptions,
) => callOver(transport, desc, texts.map(sentence), options);

async function failure(called: Promise<unknown>): Promise<ConnectError> {
  return called.then(
    () => expect.unreachable("the call has succeeded"),
    (error) => ConnectError.from(error),
  );
}

/** Kinds of rpc that a transport has. */
const kindsOf = (name: string): readonly DescMethod[] =>
  name === "gRPC-Web" ? [say, introduce] : [say, introduce, listen];

describe.each(PLUGINS)("%s", (_plugin, register) => {
  describe.each(TRANSPORTS)("over %s", (transportName, connect) => {
    const kinds = kindsOf(transportName);

    test("answers every kind of rpc", async () => {
      const app = application();
      await register(app, { routes: routes() });
      const transport = connect(await urlOf(app));
      expect((await call(transport, say, ["hi"])).words).toEqual(["nobody hears hi"]);
      const introduced = ["nobody hears hi", "I am Eliza"];
      expect((await call(transport, introduce, ["hi"])).words).toEqual(introduced);
      if (!kinds.includes(listen)) return;
      expect((await call(transport, listen, ["a", "b"])).words).toEqual(["nobody hears a b"]);
      expect((await call(transport, listen, [])).words).toEqual(["nobody hears "]);
    });

    test("answers an rpc without an implementation with UNIMPLEMENTED", async () => {
      const app = application();
      await register(app, { routes: routes() });
      const error = await failure(call(connect(await urlOf(app)), silent, ["a"]));
      expect([error.code, error.rawMessage]).toEqual([
        Code.Unimplemented,
        "test.v1.ThingService.Silent is not implemented",
      ]);
    });

    test("runs interceptors in their order around the handler, with its context values", async () => {
      const order: string[] = [];
      const named =
        (name: string): Interceptor =>
        (next) =>
        async (request) => {
          order.push(`${name} ${request.contextValues.get(key)} ${request.method.name}`);
          if (name === "outer") request.contextValues.set(key, "Ada");
          request.header.set(`x-${name}`, "1");
          const response = await next(request);
          response.header.set(`x-${name}`, "2");
          return response;
        };
      const app = application();
      await register(app, {
        routes: routes((text, context) => {
          order.push(
            [...context.requestHeader.keys()].filter((one) => /^x-(in|out)/.test(one)).join(),
          );
          return reply(text, context);
        }),
        interceptors: [named("outer"), named("inner")],
        contextValues: () => createContextValues().set(key, "guest"),
      });
      const transport = connect(await urlOf(app));
      for (const kind of kinds) {
        const { words, header } = await call(transport, kind, ["hi"]);
        expect(words[0]).toBe("Ada hears hi");
        expect([header.get("x-outer"), header.get("x-inner")]).toEqual(["2", "2"]);
        expect(order.splice(0)).toEqual([
          `outer guest ${kind.name}`,
          `inner Ada ${kind.name}`,
          "x-inner,x-outer",
        ]);
      }
    });

    test("sends headers and trailers of handlers", async () => {
      const app = application();
      await register(app, {
        routes: routes((text, { responseHeader, responseTrailer }) => {
          responseHeader.set("x-head", "a");
          responseTrailer.set("x-tail", "b");
          return text;
        }),
      });
      const transport = connect(await urlOf(app));
      for (const kind of kinds) {
        const { header, trailer } = await call(transport, kind, ["hi"]);
        expect([kind.name, header.get("x-head"), trailer.get("x-tail")]).toEqual([
          kind.name,
          "a",
          "b",
        ]);
      }
    });

    test("sends errors with code, message, details and metadata, and masks others", async () => {
      const violation = { field: "text", description: "is rude" };
      const app = application();
      await register(app, {
        routes: routes((text) => {
          if (text === "bug") throw new TypeError("a secret");
          throw new ConnectError("no", Code.InvalidArgument, { "x-why": "so" }, [
            { desc: BadRequestSchema, value: { fieldViolations: [violation] } },
          ]);
        }),
      });
      const transport = connect(await urlOf(app));
      for (const kind of kinds) {
        const error = await failure(call(transport, kind, ["hi"]));
        expect([error.code, error.rawMessage]).toEqual([Code.InvalidArgument, "no"]);
        expect(error.metadata.get("x-why")).toBe("so");
        expect(error.findDetails(BadRequestSchema)).toMatchObject([
          { fieldViolations: [violation] },
        ]);
        const bug = await failure(call(transport, kind, ["bug"]));
        expect([bug.code, bug.rawMessage]).toEqual([Code.Internal, "internal error"]);
      }
    });

    test("tells handlers of deadlines and of clients that leave", async () => {
      const seen: [number, boolean][] = [];
      const reasons: unknown[] = [];
      const app = application();
      await register(app, {
        routes: routes((text, { timeoutMs, signal }) => {
          seen.push([timeoutMs() ?? 0, signal.aborted]);
          if (text === "hi") return text;
          const { promise, reject } = Promise.withResolvers<string>();
          signal.addEventListener("abort", () => {
            reasons.push(signal.aborted);
            reject(signal.reason);
          });
          return promise;
        }),
      });
      const transport = connect(await urlOf(app));
      for (const kind of kinds) {
        await call(transport, kind, ["hi"], { timeoutMs: 60_000 });
        const [[left, aborted] = [0, true]] = seen.splice(0);
        expect(left).toBeGreaterThan(30_000);
        expect([left <= 60_000, aborted]).toEqual([true, false]);
        const late = await failure(call(transport, kind, ["wait"], { timeoutMs: 20 }));
        expect(late.code).toBe(Code.DeadlineExceeded);
        await expect.poll(() => reasons.splice(0)).toEqual([true]);
        const client = new AbortController();
        const left2 = failure(call(transport, kind, ["wait"], { signal: client.signal }));
        await expect.poll(() => seen.length).toBe(2);
        client.abort();
        expect((await left2).code).toBe(Code.Canceled);
        await expect.poll(() => reasons.splice(0)).toEqual([true]);
        seen.length = 0;
      }
    });

    test("takes compressed requests, and compresses replies that a client accepts", async () => {
      const app = application();
      await register(app, { routes: routes((text) => text) });
      const baseUrl = await urlOf(app);
      const long = "long ".repeat(1_000);
      for (const sendCompression of [compressionGzip, compressionBrotli]) {
        let sizes = 0;
        const counted = {
          ...sendCompression,
          decompress: async (bytes: Uint8Array, max: number) => {
            sizes += bytes.length;
            return sendCompression.decompress(bytes, max);
          },
        };
        const transport = connect(baseUrl, {
          sendCompression: counted,
          acceptCompression: [counted],
        });
        for (const kind of kinds) {
          sizes = 0;
          expect((await call(transport, kind, [long])).words[0]).toBe(long);
          expect(sizes).toBeGreaterThan(0);
          expect(sizes).toBeLessThan(long.length / 5);
        }
      }
    });
  });

  test("is mounted under prefixes, several times, beside routes with their own parsers", async () => {
    const app = application();
    app.post("/own", (request) => request.body);
    await register(app, { routes: routes((text) => `a ${text}`), prefix: "/a" });
    await register(app, { routes: routes((text) => `b ${text}`), prefix: "/b" });
    const baseUrl = await urlOf(app);
    for (const name of ["a", "b"]) {
      const transport = TRANSPORTS[0]?.[1](`${baseUrl}/${name}`) as Transport;
      expect((await call(transport, say, ["hi"])).words).toEqual([`${name} hi`]);
    }
    const own = await app.inject({ method: "POST", url: "/own", payload: { still: "parsed" } });
    expect(own.json()).toEqual({ still: "parsed" });
    const unknown = await app.inject({ method: "POST", url: "/a/test.v1.ThingService/None" });
    expect(unknown.json()).toMatchObject({ statusCode: 404, error: "Not Found" });
  });

  test("leaves errors of hooks to the application's error handler, and sends its own itself", async () => {
    const app = application();
    app.setErrorHandler((error: Error, _request, reply) =>
      reply.code(418).send({ handled: error.message }),
    );
    app.addHook("preHandler", async ({ headers }) => {
      if (headers["x-fail"] !== undefined) throw new Error("of a hook");
    });
    const onSend: string[] = [];
    app.addHook("onSend", async (request) => void onSend.push(request.url));
    await register(app, {
      routes: routes(() => {
        throw new ConnectError("mine", Code.Aborted);
      }),
    });
    const url = "/test.v1.ThingService/Say";
    const sent = { method: "POST", url, payload: { text: "hi" } } as const;
    const hooked = await app.inject({ ...sent, headers: { "x-fail": "1" } });
    expect([hooked.statusCode, hooked.json()]).toEqual([418, { handled: "of a hook" }]);
    onSend.length = 0;
    const own = await app.inject(sent);
    expect([own.statusCode, own.json()]).toMatchObject([409, { code: "aborted", message: "mine" }]);
    // Both write their replies themselves.
    expect(onSend).toEqual([]);
  });

  test.each([
    ["another method", "PUT", "application/json", 405],
    ["another type", "POST", "text/css", 415],
    ["a rpc that does not exist", "POST", "application/json", 404, "None"],
  ])("refuses %s", async (_name, method, type, status, name = "Introduce") => {
    const app = application();
    app.addContentTypeParser("text/css", (_request, _payload, done) => done(null));
    await register(app, { routes: routes() });
    const url = `${await urlOf(app)}/test.v1.ThingService/${name}`;
    const request = httpRequest(url, {
      method,
      headers: { "content-type": type, connection: "close" },
    });
    request.end("{}");
    const [response] = await once(request, "response");
    response.resume();
    expect(response.statusCode).toBe(status);
  });
});

describe.each(PLUGINS)("a bidirectional stream of %s", (_plugin, register) => {
  const [converse] = defineRpcs([{ name: "Converse", streams: "both" }]) as [DescMethod];
  const talk = {
    async *converse(requests: AsyncIterable<Message>, { responseHeader }: HandlerContext) {
      responseHeader.set("x-head", "a");
      for await (const request of requests) {
        if (textOf(request) === "bye") throw new ConnectError("bye", Code.OutOfRange);
        yield answer(`${textOf(request)}?`);
      }
    },
  };
  const talking = (router: ConnectRouter): void =>
    void router.service(converse.parent, talk as never);

  test("has replies before the next request, over Connect and HTTP/2", async () => {
    const app = fastify({ http2: true }) as unknown as FastifyInstance;
    onTestFinished(() => app.close());
    const echoes: Interceptor = (next) => (request) => next(request);
    await register(app, { routes: talking, interceptors: [echoes] });
    const baseUrl = await urlOf(app);
    for (const useBinaryFormat of [true, false]) {
      const sessionManager = new Http2SessionManager(baseUrl);
      const options = { baseUrl, httpVersion: "2", useBinaryFormat, sessionManager } as const;
      const transport = createConnectTransport(options);
      const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
      const sending = async function* () {
        yield sentence(await first.promise);
        yield sentence(await second.promise);
      };
      const opened = transport.stream(
        converse as never,
        undefined,
        undefined,
        undefined,
        sending() as never,
      );
      first.resolve("one");
      const { message, header } = await opened;
      const words: string[] = [];
      const error = await failure(
        (async () => {
          for await (const one of message) {
            words.push(wordOf(one));
            second.resolve("bye");
          }
        })(),
      );
      expect([words, header.get("x-head"), error.code]).toEqual([["one?"], "a", Code.OutOfRange]);
      sessionManager.abort();
    }
  });

  test("is refused over HTTP/1.1", async () => {
    const app = application();
    await register(app, { routes: talking });
    const reply = await fetch(`${await urlOf(app)}/test.v1.ThingService/Converse`, {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
    });
    expect(reply.status).toBe(505);
  });
});
