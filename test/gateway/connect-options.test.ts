import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  Code,
  ConnectError,
  type ConnectRouterOptions,
  type Interceptor,
} from "@connectrpc/connect";
import { fastify } from "fastify";
import { describe, expect, test } from "vitest";
import { restHandler } from "../../src/gateway/fetch.ts";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createMethods } from "../../src/gateway/method.ts";
import { ALL_OPTIONS } from "../../src/gateway/options.ts";
import type { RouterOptions } from "../../src/gateway/settings.ts";
import { type Ask, MOUNTS, type MountOptions } from "./mount.ts";
import { type Handle, rpcRoutes, serviceRoutes, WAYS, type Way } from "./ways.ts";

/** The places in which an option of Connect can be given. */
const PLACES: readonly [string, (handle: Handle, options: RouterOptions) => MountOptions][] = [
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

interface Case {
  readonly options: RouterOptions;
  readonly handle?: Handle;
  /** Ways that the option is about. Default: all. */
  readonly about?: (way: Way) => boolean;
  readonly check: (ask: Ask, way: Way) => Promise<void>;
}

/** Expects that a call has this outcome, and that the ways which the option is not about work. */
const expectCode = async (ask: Ask, way: Way, code: Code | undefined, sending = {}) =>
  expect([way.name, await way.call(ask, sending)]).toEqual([
    way.name,
    expect.objectContaining({ code }),
  ]);

/** Bytes of a request whose field 999 is unknown. */
function withUnknownField(): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string("a");
  return writer.tag(999, WireType.Varint).uint32(7).finish() as Uint8Array<ArrayBuffer>;
}

const CONNECT = "/test.v1.ThingService";

/** One raw request of Connect. */
const connect = (ask: Ask, body: string | Uint8Array<ArrayBuffer>, headers = {}, name = "Post") =>
  ask(`${CONNECT}/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
const GRPC_WEB = { "content-type": "application/grpc-web+proto" };

let reversed: string[] = [];
/** A coding of the application. */
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

/**
 * A case for every option of Connect. A new option of a later version does not compile until it is
 * here.
 */
const CASES: Readonly<Record<keyof ConnectRouterOptions, readonly Case[]>> = {
  interceptors: [
    {
      options: { interceptors: [auth] },
      check: async (ask, way) => {
        await expectCode(ask, way, Code.Unauthenticated);
        await expectCode(ask, way, undefined, { headers: { authorization: "x" } });
      },
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
      check: async (ask, way) => {
        await expectCode(ask, way, Code.PermissionDenied);
        const reply = await way.call(ask, { headers: { "x-pass": "1" } });
        expect([reply.code, reply.headers.get("x-gate")]).toEqual([undefined, "seen"]);
      },
    },
  ],
  readMaxBytes: [
    {
      options: { readMaxBytes: 100 },
      about: ({ hasBody }) => hasBody,
      check: async (ask, way) => {
        await expectCode(ask, way, undefined);
        await expectCode(ask, way, Code.ResourceExhausted, { text: LONG });
      },
    },
    {
      // Above the default of the gateway.
      options: { readMaxBytes: 2 * 2 ** 20 },
      about: ({ name }) => name === "REST POST" || name === "connect proto Post",
      handle: (text) => String(text.length),
      check: async (ask, way) => {
        const reply = await way.call(ask, { text: "c".repeat(1.5 * 2 ** 20) });
        expect(reply.words?.[0]).toBe(String(1.5 * 2 ** 20));
      },
    },
  ],
  writeMaxBytes: [
    {
      options: { writeMaxBytes: 300 },
      check: async (ask, way) => {
        await expectCode(ask, way, undefined);
        await expectCode(ask, way, Code.ResourceExhausted, { text: LONG });
      },
    },
  ],
  jsonOptions: [
    {
      options: { jsonOptions: { alwaysEmitImplicit: false, useProtoFieldName: true } },
      about: ({ name }) => name === "REST POST",
      check: async (ask) => {
        const headers = { "content-type": "application/json" };
        const init = { method: "POST", headers, body: '{"text":"a"}' };
        for (const path of ["/v1/post", `${CONNECT}/Post`])
          expect(await (await ask(path, init)).text()).toBe('{"word":"a"}');
      },
    },
    {
      options: { jsonOptions: { ignoreUnknownFields: false } },
      about: ({ name }) => name === "REST POST",
      check: async (ask) => {
        const headers = { "content-type": "application/json" };
        const init = { method: "POST", headers, body: '{"nope":"a"}' };
        for (const path of ["/v1/post", `${CONNECT}/Post`])
          expect((await ask(path, init)).status).toBe(400);
      },
    },
    {
      options: { jsonOptions: { recursionLimit: 3 } },
      about: ({ name }) => name === "REST POST",
      check: async (ask) => {
        const headers = { "content-type": "application/json" };
        const nested = (depth: number) =>
          JSON.stringify({ part: JSON.parse(`${'{"part":'.repeat(depth)}{}${"}".repeat(depth)}`) });
        for (const path of ["/v1/post", `${CONNECT}/Post`])
          for (const [depth, status] of [
            [1, 200],
            [5, 400],
          ] as const)
            expect((await ask(path, { method: "POST", headers, body: nested(depth) })).status).toBe(
              status,
            );
      },
    },
  ],
  binaryOptions: [
    {
      options: { binaryOptions: { recursionLimit: 1 } },
      about: ({ name }) => name === "connect proto Post",
      check: async (ask) => {
        const type = { "content-type": "application/proto" };
        // A Part in a Part.
        const nested = Uint8Array.from([98, 2, 26, 0]);
        expect((await connect(ask, nested, type)).status).toBe(400);
        expect((await connect(ask, withUnknownField(), type)).status).toBe(200);
      },
    },
  ],
  maxTimeoutMs: [
    {
      options: { maxTimeoutMs: 60_000 },
      check: async (ask, way) => {
        await expectCode(ask, way, undefined, { timeoutMs: 50_000 });
        await expectCode(ask, way, Code.InvalidArgument, { timeoutMs: 70_000 });
      },
    },
  ],
  acceptCompression: [
    {
      options: { acceptCompression: [] },
      about: ({ name }) => name === "REST POST" || name === "connect JSON Post",
      check: async (ask) => {
        const headers = { "content-encoding": "gzip", "content-type": "application/json" };
        const body = gzipSync('{"text":"a"}');
        expect((await connect(ask, body, headers)).status).toBe(501);
        expect((await ask("/v1/post", { method: "POST", headers, body })).status).toBe(415);
        const plain = await ask(`/v1/get/${LONG}`, { headers: { "accept-encoding": "gzip, br" } });
        expect(plain.headers.get("content-encoding")).toBeNull();
      },
    },
    {
      options: { acceptCompression: [REVERSE] },
      about: ({ name }) => name === "REST POST",
      check: async (ask) => {
        reversed = [];
        const headers = {
          "content-encoding": "reverse",
          "accept-encoding": "reverse",
          "content-type": "application/json",
        };
        const body = Buffer.from(JSON.stringify({ text: LONG })).reverse();
        for (const path of ["/v1/post", `${CONNECT}/Post`]) {
          const reply = await ask(path, { method: "POST", headers, body });
          expect([reply.status, reply.headers.get("content-encoding")]).toEqual([200, "reverse"]);
        }
        expect(reversed).toEqual(["decompress", "compress", "decompress", "compress"]);
      },
    },
  ],
  compressMinBytes: [
    {
      options: { compressMinBytes: 0 },
      about: ({ name }) => name === "REST GET",
      check: async (ask) => {
        const text = "d".repeat(200);
        const headers = { "accept-encoding": "gzip", "content-type": "application/json" };
        for (const reply of [
          await ask(`/v1/get/${text}`, { headers }),
          await connect(ask, JSON.stringify({ text }), headers),
        ])
          expect(reply.headers.get("content-encoding")).toBe("gzip");
      },
    },
    {
      options: { compressMinBytes: 1_000_000 },
      about: ({ name }) => name === "REST GET",
      check: async (ask) => {
        const headers = { "accept-encoding": "gzip", "content-type": "application/json" };
        for (const reply of [
          await ask(`/v1/get/${LONG}`, { headers }),
          await connect(ask, JSON.stringify({ text: LONG }), headers),
        ])
          expect(reply.headers.get("content-encoding")).toBeNull();
      },
    },
  ],
  shutdownSignal: [
    {
      options: { shutdownSignal: AbortSignal.abort(new ConnectError("bye", Code.Aborted)) },
      handle: () => new Promise<string>(() => undefined),
      check: (ask, way) => expectCode(ask, way, Code.Aborted),
    },
  ],
  requireConnectProtocolHeader: [
    {
      options: { requireConnectProtocolHeader: true },
      check: async (ask, way) => {
        // Clients of Connect send it; the option is about no other protocol.
        await expectCode(ask, way, undefined);
        expect((await connect(ask, "{}")).status).toBe(400);
        expect((await connect(ask, "{}", { "connect-protocol-version": "2" })).status).toBe(400);
        const query = "encoding=json&message=%7B%7D";
        expect((await ask(`${CONNECT}/Get?${query}`)).status).toBe(400);
        expect((await ask(`${CONNECT}/Get?${query}&connect=v1`)).status).toBe(200);
      },
    },
  ],
  connect: [
    {
      options: { connect: false },
      about: ({ protocol }) => protocol !== "connect",
      check: async (ask, way) => {
        await expectCode(ask, way, undefined);
        expect((await connect(ask, "{}")).status).toBe(415);
        expect((await ask(`${CONNECT}/Get?encoding=json&message=%7B%7D`)).status).toBe(405);
      },
    },
  ],
  grpcWeb: [
    {
      options: { grpcWeb: false },
      about: ({ protocol }) => protocol !== "grpc-web",
      check: async (ask, way) => {
        await expectCode(ask, way, undefined);
        expect((await connect(ask, new Uint8Array(5), GRPC_WEB)).status).toBe(415);
      },
    },
  ],
  grpc: [{ options: { grpc: false }, check: (ask, way) => expectCode(ask, way, undefined) }],
};

describe.each(MOUNTS)("over %s", (_, mount) => {
  describe.each(PLACES)("an option of Connect given to %s holds", (_place, place) => {
    test.each(Object.keys(CASES) as (keyof typeof CASES)[])("%s", async (name) => {
      for (const { options, handle = echo, about = () => true, check } of CASES[name]) {
        const ask = await mount(place(handle, options));
        for (const way of WAYS.filter(about)) await check(ask, way);
      }
    });
  });

  test("as in Connect, interceptors of a service replace those of the gateway", async () => {
    const routes = serviceRoutes(echo, { interceptors: [] });
    const ask = await mount({ routes, interceptors: [auth] });
    for (const way of WAYS) await expectCode(ask, way, undefined);
  });

  test("an option of a service that is undefined leaves that of the gateway", async () => {
    const routes = serviceRoutes(echo, { interceptors: undefined });
    const ask = await mount({ routes, interceptors: [auth] });
    for (const way of WAYS) await expectCode(ask, way, Code.Unauthenticated);
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
