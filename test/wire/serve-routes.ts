import type { Registry } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcConnections } from "../../src/app/grpc-connection.ts";
import { createHttpServer } from "../../src/app/http-server.ts";
import { type AnswerReflection, createReflection } from "../../src/app/reflection.ts";
import { restContract } from "../../src/app/routes.ts";
import type { Call } from "../../src/gateway/call.ts";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createGrpcHandler } from "../../src/gateway/grpc.ts";
import { createMethods, type Routes } from "../../src/gateway/method.ts";
import type { CallObserver } from "../../src/gateway/observer.ts";
import { reportInterceptor } from "../../src/gateway/report.ts";
import { connectedPeer } from "../../src/transport/address.ts";
import { Buffered } from "../../src/transport/body.ts";
import { MESSAGE_LIMITS } from "../../src/transport/decode.ts";
import { openFront } from "../../src/transport/front.ts";
import { openListeners } from "../../src/transport/listeners.ts";
import { createRequestIds } from "../../src/transport/request-id.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";

export interface ServeRoutesOptions {
  /** Longest message, in bytes; default 4 MiB. */
  readonly maxBytes?: number;
  /** Bytes of all bodies together; default 64 MiB. */
  readonly buffered?: number;
  /** Time for a body to arrive, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  /** Calls of one connection at a time; default 256. */
  readonly maxStreams?: number;
  readonly slowReaders?: SlowReaders;
  /** Longest silence of reflection, in milliseconds; default 30,000. */
  readonly silenceMs?: number;
  /** Receives the report of each call. */
  readonly observer?: Partial<CallObserver>;
  /** Answers reflection; default: by the routes. */
  readonly reflect?: AnswerReflection;
  readonly interceptors?: readonly Interceptor[];
  /** Types for google.protobuf.Any in JSON. */
  readonly registry?: Registry;
}

/** Services behind the transports of the program, without its other parts. */
export interface ServedRoutes {
  readonly port: number;
  /** Ports in the form that the clients of the tests need. */
  readonly grpcPort: number;
  readonly buffered: Buffered;
  close(): Promise<void>;
}

const MAX_HEADERS = 64 * 1024;

/**
 * Serves any services through the transports of the program, on a free port of 127.0.0.1, without a
 * token.
 */
export async function serveRoutes(
  routes: Routes,
  options: ServeRoutesOptions = {},
): Promise<ServedRoutes> {
  const { maxBytes = 4 * 2 ** 20, timeoutMs = 30_000, maxStreams = 256, registry } = options;
  const buffered = new Buffered(options.buffered ?? 64 * 2 ** 20);
  const slowReaders =
    options.slowReaders ?? new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 30_000 });
  const methods = createMethods(routes, [
    reportInterceptor(
      { started: () => undefined, ended: () => undefined, ...options.observer },
      () => performance.now(),
    ),
    ...(options.interceptors ?? []),
  ]);
  const common = {
    methods,
    bounds: { buffered, timeoutMs, maxBytes },
    bodyLimit: () => maxBytes,
    messageLimits: () => MESSAGE_LIMITS,
    admit: (_call: Call) => undefined,
    refused: () => undefined,
    dropped: () => undefined,
    peerOf: connectedPeer,
  };
  const requestId = createRequestIds("test");
  const http = createHttpServer({
    requestId,
    cors: { origins: "*" },
    maxHeaderBytes: MAX_HEADERS,
    requestTimeoutMs: timeoutMs,
    report: () => undefined,
  });
  await http.fastify.register(restGateway, {
    ...restContract,
    ...common,
    slowReaders,
    ...(registry === undefined ? {} : { registry }),
  });
  const grpc = {
    ...createGrpcConnections({
      reflect: options.reflect ?? createReflection(methods),
      slowReaders,
      ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
    }),
    direct: createGrpcHandler({
      ...common,
      immutableReplies: true,
      requestId,
      slowReaders,
    }),
  };
  const { front, address } = await openFront(
    { host: "127.0.0.1", port: 0 },
    { variable: "MOORING_LISTEN" },
  );
  const transports = await openListeners({
    http,
    grpc,
    front,
    grpcFront: undefined,
    connections: { all: 1_000, eachPeer: 1_000 },
    maxHeaderBytes: MAX_HEADERS,
    maxStreams,
  });
  if (!("port" in address)) throw new Error("it listens on no port");
  const { port } = address;
  return { port, grpcPort: port, buffered, close: () => transports.close(100) };
}
