import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  Code,
  ConnectError,
  type ConnectRouterOptions,
  type Interceptor,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  type GrpcTransportOptions,
} from "@connectrpc/connect-node";
import { fastify } from "fastify";
import { describe, expect, test } from "vitest";
import { restHandler } from "../../src/gateway/fetch.ts";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createMethods, type Method } from "../../src/gateway/method.ts";
import { ALL_OPTIONS } from "../../src/gateway/options.ts";
import type { RouterOptions } from "../../src/gateway/settings.ts";
import { type GrpcSending, serveGrpc } from "./grpc-ways.ts";
import { type Ask, MOUNTS, type MountOptions } from "./mount.ts";
import { type Handle, type Outcome, rpcRoutes, serviceRoutes, WAYS, type Way } from "./ways.ts";

type Place<Options> = (handle: Handle, options: RouterOptions) => Options;

/** The places in which an option of Connect can be given to methods. */
const METHOD_PLACES: readonly [string, Place<Method[]>][] = [
  ["router.service", (handle, options) => createMethods(serviceRoutes(handle, options))],
  ["router.rpc", (handle, options) => createMethods(rpcRoutes(handle, options))],
  ["createMethods", (handle, options) => createMethods(serviceRoutes(handle), options)],
];

const PLACES: readonly [string, Place<MountOptions>][] = [
  [
    "the gateway",
    (handle, options) => ({ routes: serviceRoutes(handle), ...(options as MountOptions) }),
  ],
  ["router.service", (handle, options) => ({ routes: serviceRoutes(handle, options) })],
  ["router.rpc", (handle, options) => ({ routes: rpcRoutes(handle, options) })],
  [
    "createMethods",
    (handle, options) => ({ methods: createMethods(serviceRoutes(handle), options) }),
  ],
];

const echo: Handle = (text) => text;
const LONG = "b".repeat(2_000);

const auth: Interceptor = (next) => (request) => {
  if (request.header.get("authorization") === null)
    throw new ConnectError("who?", Code.Unauthenticated);
  return next(request);
};

/** A call, its code (undefined: success), and some headers of its reply. */
type Call = readonly [
  sending: GrpcSending,
  code: Code | undefined,
  headers?: Readonly<Record<string, string | null>>,
];

interface Case {
  readonly options: RouterOptions;
  readonly handle?: Handle;
  /** Calls over every way, gRPC included. */
  readonly calls?: readonly Call[];
  /** Ways over HTTP that the option is about. Default: all. */
  readonly about?: (way: Way) => boolean;
  /** Calls over gRPC instead of `calls`. */
  readonly grpc?: readonly Call[];
  /** Further requests over HTTP. */
  readonly check?: (ask: Ask) => Promise<void>;
}

const FINE: readonly Call[] = [[{}, undefined]];

/** Bytes of a request whose field 999 is unknown. */
function withUnknownField(): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string("a");
  return writer.tag(999, WireType.Varint).uint32(7).finish() as Uint8Array<ArrayBuffer>;
}

const JSON_TYPE = { "content-type": "application/json" };
const CONNECT = "/test.v1.ThingService";
const QUERY = "encoding=json&message=%7B%7D";
/** Paths of the same rpc over REST and Connect. */
const POST = ["/v1/post", `${CONNECT}/Post`];

/** One request of Connect, or of REST at its path. */
const post = (
  ask: Ask,
  body: string | Uint8Array<ArrayBuffer>,
  headers = {},
  path = `${CONNECT}/Post`,
) => ask(path, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body });

let reversed: string[] = [];
/** A coding of the application. Its replies are not read; only shorter ones are sent compressed. */
const REVERSE = {
  name: "reverse",
  compress: async (bytes: Uint8Array) => {
    reversed.push("compress");
    return Uint8Array.from(bytes.slice(0, -1)).reverse();
  },
  decompress: async (bytes: Uint8Array) => {
    reversed.push("decompress");
    return Uint8Array.from(bytes).reverse();
  },
};

type ClientOptions = Partial<GrpcTransportOptions>;
const gzipped: ClientOptions = { sendCompression: compressionGzip, compressMinBytes: 0 };
const backwards: ClientOptions = {
  sendCompression: { ...REVERSE, compress: async (bytes) => Uint8Array.from(bytes).reverse() },
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
      about: ({ hasBody }) => hasBody,
      calls: [
        [{}, undefined],
        [{ text: LONG }, Code.ResourceExhausted],
      ],
    },
    {
      options: { readMaxBytes: 100 },
      about: () => false,
      grpc: [[{ text: LONG, client: gzipped }, Code.ResourceExhausted]],
    },
    {
      // Above the default of the gateway.
      options: { readMaxBytes: 2 * 2 ** 20 },
      about: ({ name }) => name === "REST POST" || name === "connect proto Post",
      handle: (text) => {
        expect(text).toHaveLength(1.5 * 2 ** 20);
        return "b";
      },
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
  jsonOptions: [
    {
      options: { jsonOptions: { alwaysEmitImplicit: false, useProtoFieldName: true } },
      check: async (ask) => {
        for (const path of POST)
          expect(await (await post(ask, '{"text":"a"}', {}, path)).text()).toBe('{"word":"a"}');
      },
    },
    {
      options: { jsonOptions: { ignoreUnknownFields: false } },
      grpc: FINE,
      check: async (ask) => {
        for (const path of POST)
          expect((await post(ask, '{"nope":"a"}', {}, path)).status).toBe(400);
      },
    },
    {
      options: { jsonOptions: { recursionLimit: 3 } },
      check: async (ask) => {
        for (const path of POST) {
          expect((await post(ask, '{"part":{}}', {}, path)).status).toBe(200);
          const deep = `${'{"part":'.repeat(5)}{}${"}".repeat(5)}`;
          expect((await post(ask, deep, {}, path)).status).toBe(400);
        }
      },
    },
  ],
  binaryOptions: [
    {
      options: { binaryOptions: { recursionLimit: 1 } },
      grpc: [
        [{}, undefined],
        [{ members: { part: { part: {} } } }, Code.InvalidArgument],
      ],
      check: async (ask) => {
        const type = { "content-type": "application/proto" };
        // A Part in a Part.
        const nested = Uint8Array.from([98, 2, 26, 0]);
        expect((await post(ask, nested, type)).status).toBe(400);
        expect((await post(ask, withUnknownField(), type)).status).toBe(200);
      },
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
      grpc: [
        [{}, undefined, { "grpc-accept-encoding": "identity" }],
        [{ client: gzipped }, Code.Unimplemented],
      ],
      check: async (ask) => {
        const headers = { "content-encoding": "gzip" };
        const body = gzipSync('{"text":"a"}');
        expect((await post(ask, body, headers)).status).toBe(501);
        expect((await post(ask, body, headers, "/v1/post")).status).toBe(415);
        const plain = await ask(`/v1/get/${LONG}`, { headers: { "accept-encoding": "gzip, br" } });
        expect(plain.headers.get("content-encoding")).toBeNull();
      },
    },
    {
      options: { acceptCompression: [REVERSE] },
      grpc: [
        [{ client: backwards }, undefined],
        [{ client: gzipped }, Code.Unimplemented],
      ],
      check: async (ask) => {
        reversed = [];
        const headers = { "content-encoding": "reverse", "accept-encoding": "reverse" };
        const body = Buffer.from(JSON.stringify({ text: LONG })).reverse();
        for (const path of POST) {
          const reply = await post(ask, body, headers, path);
          expect([reply.status, reply.headers.get("content-encoding")]).toEqual([200, "reverse"]);
        }
        expect(reversed).toEqual(["decompress", "compress", "decompress", "compress"]);
      },
    },
    {
      options: { acceptCompression: [compressionBrotli], compressMinBytes: 0 },
      grpc: [
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
      grpc: [
        [{ text: LONG }, undefined, { "grpc-encoding": "gzip" }],
        [{ text: LONG, client: { acceptCompression: [] } }, undefined, { "grpc-encoding": null }],
      ],
      check: (ask) => expectCoding(ask, "d".repeat(200), "gzip"),
    },
    {
      options: { compressMinBytes: 1_000_000 },
      check: (ask) => expectCoding(ask, LONG, null),
    },
    // Without the option no reply of gRPC is compressed.
    { options: {}, grpc: [[{ text: LONG }, undefined, { "grpc-encoding": null }]] },
  ],
  shutdownSignal: [
    {
      options: { shutdownSignal: AbortSignal.abort(new ConnectError("bye", Code.Aborted)) },
      handle: () => new Promise<string>(() => undefined),
      calls: [[{}, Code.Aborted]],
    },
  ],
  requireConnectProtocolHeader: [
    {
      options: { requireConnectProtocolHeader: true },
      // Clients of Connect send it; the option is about no other protocol.
      calls: FINE,
      check: async (ask) => {
        expect((await post(ask, "{}")).status).toBe(400);
        expect((await post(ask, "{}", { "connect-protocol-version": "2" })).status).toBe(400);
        expect((await ask(`${CONNECT}/Get?${QUERY}`)).status).toBe(400);
        expect((await ask(`${CONNECT}/Get?${QUERY}&connect=v1`)).status).toBe(200);
      },
    },
  ],
  connect: [
    {
      options: { connect: false },
      about: ({ protocol }) => protocol !== "connect",
      calls: FINE,
      check: async (ask) => {
        expect((await post(ask, "{}")).status).toBe(415);
        expect((await ask(`${CONNECT}/Get?${QUERY}`)).status).toBe(405);
      },
    },
  ],
  grpcWeb: [
    {
      options: { grpcWeb: false },
      about: ({ protocol }) => protocol !== "grpc-web",
      calls: FINE,
      check: async (ask) => {
        const type = { "content-type": "application/grpc-web+proto" };
        expect((await post(ask, new Uint8Array(5), type)).status).toBe(415);
      },
    },
  ],
  grpc: [{ options: { grpc: false }, calls: FINE, grpc: [[{}, Code.Unimplemented]] }],
};

const OPTIONS = Object.keys(CASES) as (keyof typeof CASES)[];

/** Expects the coding of replies of this text over REST and Connect. */
async function expectCoding(ask: Ask, text: string, coding: string | null): Promise<void> {
  const headers = { "accept-encoding": "gzip" };
  for (const reply of [
    await ask(`/v1/get/${text}`, { headers }),
    await post(ask, JSON.stringify({ text }), headers),
  ])
    expect(reply.headers.get("content-encoding")).toBe(coding);
}

/** Expects that calls have their outcomes. */
async function expectCalls(
  name: string,
  call: (sending: GrpcSending) => Promise<Outcome>,
  calls: readonly Call[],
): Promise<void> {
  for (const [sending, code, headers = {}] of calls) {
    const outcome = await call(sending);
    expect([name, outcome.code]).toEqual([name, code]);
    const seen = Object.keys(headers).map((header) => [header, outcome.headers.get(header)]);
    expect(Object.fromEntries(seen), name).toEqual(headers);
  }
}

/** Every place over restHandler; options reach the plugin in the same way, so that one place is enough. */
const MOUNTED = PLACES.flatMap(([place, optionsOf]) =>
  MOUNTS.filter(([name]) => name === "restHandler" || place === "the gateway").map(
    ([name, mount]) => ({ place, name, mount, optionsOf }),
  ),
);

describe.each(MOUNTED)(
  "over $name, an option of Connect given to $place holds",
  ({ mount, optionsOf }) => {
    test.each(OPTIONS)("%s", async (name) => {
      for (const { options, handle = echo, calls = [], about = () => true, check } of CASES[name]) {
        const ask = await mount(optionsOf(handle, options));
        for (const way of WAYS.filter(about))
          await expectCalls(way.name, (sending) => way.call(ask, sending), calls);
        await check?.(ask);
      }
    });
  },
);

describe.each(METHOD_PLACES)(
  "over gRPC, an option of Connect given to %s holds",
  (_place, place) => {
    test.each(OPTIONS)("%s", async (name) => {
      for (const { options, handle = echo, calls = [], grpc = calls } of CASES[name])
        for (const way of await serveGrpc(place(handle, options)))
          await expectCalls(way.name, way.call, grpc);
    });
  },
);

test("over gRPC, a request is answered with the text of the request, once or per message", async () => {
  const [post, read] = await serveGrpc(createMethods(serviceRoutes(echo)));
  expect((await post?.call({ text: LONG, client: gzipped }))?.words).toEqual([LONG]);
  expect((await read?.call({ text: "two" }))?.words).toEqual(["two", "two"]);
});

describe.each(MOUNTS)("over %s", (_, mount) => {
  test.each([
    ["empty, replace those of the gateway, as in Connect", [], undefined],
    ["undefined, leave those of the gateway", undefined, Code.Unauthenticated],
  ])("interceptors of a service that are %s", async (_case, interceptors, code) => {
    const routes = serviceRoutes(echo, { interceptors });
    const ask = await mount({ routes, interceptors: [auth] });
    for (const way of WAYS)
      await expectCalls(way.name, (sending) => way.call(ask, sending), [[{}, code]]);
  });
});

/** Names of the members of an interface in a declaration file. */
function membersOf(file: string, name: string): string[] {
  const url = new URL(`../../node_modules/@connectrpc/${file}`, import.meta.url);
  expect(existsSync(url)).toBe(true);
  const [, body = ""] =
    new RegExp(`interface ${name}[^{]*{\\n([^]*?)\\n}`).exec(readFileSync(url, "utf8")) ?? [];
  const names = [...body.matchAll(/^ {4}(?:readonly )?(\w+)\??:/gm)].map(
    ([, member]) => member ?? "",
  );
  expect(names.length).toBeGreaterThan(0);
  return names;
}

test("every option that Connect declares is in the table", () => {
  const declared = [
    ...membersOf("connect/dist/esm/protocol/universal-handler.d.ts", "UniversalHandlerOptions"),
    ...membersOf("connect/dist/esm/router.d.ts", "ConnectRouterOptions"),
  ];
  expect(Object.keys(CASES).sort()).toEqual(declared.sort());
});

test("every option that fastifyConnectPlugin declares is one of the plugin", async () => {
  const declared = membersOf(
    "connect-fastify/dist/esm/fastify-connect-plugin.d.ts",
    "FastifyConnectPluginOptions",
  );
  const values: Record<string, unknown> = {
    routes: serviceRoutes(echo),
    shutdownTimeoutMs: 5,
    shutdownError: new ConnectError("bye", Code.Unavailable),
    contextValues: () => undefined,
  };
  for (const name of declared) {
    expect(Object.keys(values)).toContain(name);
    const app = fastify();
    await app.register(restGateway, { routes: serviceRoutes(echo), [name]: values[name] } as never);
    await app.close();
  }
});

test("every option is in the table of the page", () => {
  const page = readFileSync(new URL("../../src/gateway/docs/options.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const names = rows.flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`(\w+)`/g)]);
  expect(names.map(([, name]) => name)).toEqual(expect.arrayContaining([...ALL_OPTIONS]));
});

describe("an option that cannot hold ends the start, and is named", () => {
  const WRONG: readonly [string, Record<string, unknown>][] = [
    ["grpc", { grpc: true }],
    ["readMaxBytes", { readMaxBytes: 0 }],
    ["readMaxBytes", { readMaxBytes: 2 ** 33 }],
    ["writeMaxBytes", { writeMaxBytes: -1 }],
    ["compressMinBytes", { compressMinBytes: "1" }],
    ["interceptors", { interceptors: [undefined] }],
    ["interceptors", { interceptors: auth }],
    ["acceptCompression", { acceptCompression: ["gzip"] }],
    ["shutdownSignal", { shutdownSignal: {} }],
    ["maxTimeoutMs", { maxTimeoutMs: 0 }],
    ["requestGate", { requestGate: true }],
    ["interceptor", { interceptor: [auth] }],
    ["jsonOptions", { jsonOptions: { ignoreUnknown: true } }],
    ["binaryOptions", { binaryOptions: { readUnknown: true } }],
    ["fallback", { fallback: () => undefined }],
  ];
  test.each(
    WRONG.flatMap(([name, options]) => PLACES.map((place) => [name, ...place, options] as const)),
  )("%s given to %s", async (name, _place, place, options) => {
    const start = () => restHandler(place(echo, options as RouterOptions));
    expect(start).toThrow(new RegExp(`\\b${name}\\b`));
  });

  test.each([
    [
      "requestPathPrefix",
      { routes: serviceRoutes(echo), requestPathPrefix: "/a" },
      /use the option prefix/,
    ],
    ["bodylimit", { routes: serviceRoutes(echo), bodylimit: 1 }, /no option bodylimit/],
    ["nothing to serve", {}, /nothing to serve/],
  ])("of the plugin: %s", async (_, options, message) => {
    const app = fastify();
    await expect(app.register(restGateway, options as never)).rejects.toThrow(message);
  });

  test("shutdownTimeoutMs of restHandler, which does not know when the server closes", () => {
    const options = { routes: serviceRoutes(echo), shutdownTimeoutMs: 1 } as object;
    expect(() => restHandler(options)).toThrow("there is no option shutdownTimeoutMs");
    expect(() => restHandler({})).toThrow("nothing to serve");
  });

  test("interceptors beside methods, which would not be called", () => {
    const methods = createMethods(serviceRoutes(echo));
    expect(() => restHandler({ methods, interceptors: [auth] })).toThrow(/interceptors/);
  });
});
