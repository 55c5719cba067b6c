import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouterOptions,
  type Interceptor,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createGrpcTransport,
  type GrpcTransportOptions,
} from "@connectrpc/connect-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGrpcHandler } from "../../src/gateway/grpc.ts";
import { createMethods, type Method } from "../../src/gateway/method.ts";
import type { RouterOptions } from "../../src/gateway/settings.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { type Handle, rpc, rpcRoutes, serviceRoutes, wordOf } from "./ways.ts";

/** The places in which an option of Connect can be given. */
const PLACES: readonly [string, (handle: Handle, options: RouterOptions) => Method[]][] = [
  ["router.service", (handle, options) => createMethods(serviceRoutes(handle, options))],
  ["router.rpc", (handle, options) => createMethods(rpcRoutes(handle, options))],
  ["createMethods", (handle, options) => createMethods(serviceRoutes(handle), options)],
];

/** Serves methods over gRPC. @returns a caller of its rpcs. */
async function serve(methods: readonly Method[]) {
  const slowReaders = new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 30_000 });
  const handler = createGrpcHandler({ methods, requestId: () => "id", slowReaders });
  const server = createServer();
  server.on("stream", (opened, headers) => {
    const stream = opened as ServerHttp2Stream;
    stream.on("error", () => undefined);
    if (!handler.handle(stream, headers)) stream.respond({ ":status": 404 }, { endStream: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (name: "Post" | "Read", sending?: Sending) => callRpc(baseUrl, name, sending);
}

interface Sending {
  readonly text?: string;
  readonly headers?: Record<string, string>;
  readonly timeoutMs?: number;
  readonly client?: Partial<GrpcTransportOptions>;
  /** Members of the request. */
  readonly members?: Record<string, unknown>;
}

interface Outcome {
  readonly code: Code | undefined;
  readonly words: readonly string[];
  readonly headers: Headers;
}

/** Calls a unary rpc or a server stream. */
async function callRpc(
  baseUrl: string,
  name: "Post" | "Read",
  { text = "a", headers = {}, timeoutMs, client = {}, members = {} }: Sending = {},
): Promise<Outcome> {
  const desc = rpc(name);
  const transport = createGrpcTransport({ baseUrl, ...client });
  const message = create(desc.input, { text, ...members } as Record<string, unknown>);
  try {
    if (desc.methodKind === "unary") {
      const reply = await transport.unary(
        desc as DescMethodUnary,
        undefined,
        timeoutMs,
        headers,
        message,
      );
      return { code: undefined, words: [wordOf(reply.message)], headers: reply.header };
    }
    const only = (async function* () {
      yield message;
    })();
    const reply = await transport.stream(
      desc as never,
      undefined,
      timeoutMs,
      headers,
      only as never,
    );
    const words: string[] = [];
    for await (const one of reply.message) words.push(wordOf(one as Message));
    return { code: undefined, words, headers: reply.header };
  } catch (error) {
    const { code, metadata } = ConnectError.from(error);
    return { code, words: [], headers: metadata };
  }
}

const echo: Handle = (text) => text;
const LONG = "b".repeat(2_000);

const auth: Interceptor = (next) => (request) => {
  if (request.header.get("authorization") === null)
    throw new ConnectError("who?", Code.Unauthenticated);
  return next(request);
};

/** A coding of the application. */
const REVERSE = {
  name: "reverse",
  compress: async (bytes: Uint8Array) => Uint8Array.from(bytes).reverse(),
  decompress: async (bytes: Uint8Array) => Uint8Array.from(bytes).reverse(),
};

/** A call, and its outcome: a code, undefined: success. */
type Call = readonly [
  sending: Sending,
  code: Code | undefined,
  headers?: Record<string, string | null>,
];

interface Case {
  readonly options: RouterOptions;
  readonly handle?: Handle;
  readonly calls: readonly Call[];
}

const FINE: readonly Call[] = [[{}, undefined]];
const gzipped: Partial<GrpcTransportOptions> = {
  sendCompression: compressionGzip,
  compressMinBytes: 0,
};

/**
 * A case for every option of Connect. A new option of a later version does not compile until it is
 * here.
 */
const CASES: Readonly<Record<keyof ConnectRouterOptions, readonly Case[]>> = {
  interceptors: [
    {
      options: { interceptors: [auth] },
      calls: [
        [{}, Code.Unauthenticated],
        [{ headers: { authorization: "x" } }, undefined],
      ],
    },
  ],
  requestGate: [
    {
      options: {
        requestGate: async ({ requestHeader, responseHeader }) => {
          responseHeader.set("x-gate", "seen");
          if (requestHeader.get("x-pass") === null)
            throw new ConnectError("no", Code.PermissionDenied);
        },
      },
      calls: [
        [{}, Code.PermissionDenied],
        [{ headers: { "x-pass": "1" } }, undefined, { "x-gate": "seen" }],
      ],
    },
  ],
  readMaxBytes: [
    {
      options: { readMaxBytes: 100 },
      calls: [
        [{}, undefined],
        [{ text: LONG }, Code.ResourceExhausted],
        [{ text: LONG, client: gzipped }, Code.ResourceExhausted],
      ],
    },
    {
      options: { readMaxBytes: 2 * 2 ** 20 },
      calls: [[{ text: "c".repeat(1.5 * 2 ** 20) }, undefined]],
    },
  ],
  writeMaxBytes: [
    {
      options: { writeMaxBytes: 300 },
      calls: [
        [{}, undefined],
        [{ text: LONG }, Code.ResourceExhausted],
      ],
    },
  ],
  // The option is about JSON, which is not served over gRPC.
  jsonOptions: [{ options: { jsonOptions: { ignoreUnknownFields: false } }, calls: FINE }],
  binaryOptions: [
    {
      options: { binaryOptions: { recursionLimit: 1 } },
      calls: [
        [{}, undefined],
        [{ members: { part: { part: {} } } }, Code.InvalidArgument],
      ],
    },
  ],
  maxTimeoutMs: [
    {
      options: { maxTimeoutMs: 60_000 },
      calls: [
        [{ timeoutMs: 50_000 }, undefined],
        [{ timeoutMs: 70_000 }, Code.InvalidArgument],
      ],
    },
  ],
  acceptCompression: [
    {
      options: { acceptCompression: [] },
      calls: [
        [{}, undefined, { "grpc-accept-encoding": "identity" }],
        [{ client: gzipped }, Code.Unimplemented],
      ],
    },
    {
      options: { acceptCompression: [REVERSE] },
      calls: [
        [{ client: { sendCompression: REVERSE, compressMinBytes: 0 } }, undefined],
        [{ client: gzipped }, Code.Unimplemented],
      ],
    },
    {
      options: { acceptCompression: [compressionBrotli], compressMinBytes: 0 },
      calls: [
        [
          { text: LONG, client: { acceptCompression: [compressionBrotli] } },
          undefined,
          { "grpc-encoding": "br", "grpc-accept-encoding": "identity,br" },
        ],
      ],
    },
  ],
  compressMinBytes: [
    {
      options: { compressMinBytes: 0 },
      calls: [
        [{ text: LONG }, undefined, { "grpc-encoding": "gzip" }],
        [{ text: LONG, client: { acceptCompression: [] } }, undefined, { "grpc-encoding": null }],
      ],
    },
    // Without the option no reply is compressed.
    { options: {}, calls: [[{ text: LONG }, undefined, { "grpc-encoding": null }]] },
  ],
  shutdownSignal: [
    {
      options: { shutdownSignal: AbortSignal.abort(new ConnectError("bye", Code.Aborted)) },
      handle: () => new Promise<string>(() => undefined),
      calls: [[{}, Code.Aborted]],
    },
  ],
  // Options about other protocols.
  requireConnectProtocolHeader: [{ options: { requireConnectProtocolHeader: true }, calls: FINE }],
  connect: [{ options: { connect: false }, calls: FINE }],
  grpcWeb: [{ options: { grpcWeb: false }, calls: FINE }],
  grpc: [{ options: { grpc: false }, calls: [[{}, Code.Unimplemented]] }],
};

describe.each(PLACES)("over gRPC, an option of Connect given to %s holds", (_place, place) => {
  test.each(Object.keys(CASES) as (keyof typeof CASES)[])("%s", async (name) => {
    for (const { options, handle = echo, calls } of CASES[name]) {
      const call = await serve(place(handle, options));
      for (const [sending, code, headers = {}] of calls) {
        for (const rpcName of ["Post", "Read"] as const) {
          const outcome = await call(rpcName, sending);
          expect([rpcName, outcome.code]).toEqual([rpcName, code]);
          const seen = Object.keys(headers).map((header) => [header, outcome.headers.get(header)]);
          expect(Object.fromEntries(seen)).toEqual(headers);
        }
      }
    }
  });
});

test("over gRPC, a request is answered with the text of the request, once or per message", async () => {
  const call = await serve(createMethods(serviceRoutes((text) => text)));
  expect((await call("Post", { text: LONG, client: gzipped })).words).toEqual([LONG]);
  expect((await call("Read", { text: "two" })).words).toEqual(["two", "two"]);
});
