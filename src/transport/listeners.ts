import { once } from "node:events";
import type { Server as HttpServer, RequestListener } from "node:http";
import type { Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionBounds, limitConnections } from "./connection-limit.ts";
import { type Front, toHttp1 } from "./front.ts";
import { createHttp2Connections, type GrpcListener } from "./http2.ts";

/** Interval of checks for idle connections during a drain, in milliseconds. */
const DRAIN_CHECK = 20;
/**
 * Time that idle connections are kept at the beginning of a drain, in milliseconds: a client that
 * sends a request in the meantime receives `Connection: close` instead of losing it.
 */
const ANNOUNCEMENT = 1_000;

/** HTTP servers; they get their connections from the listening sockets. */
export interface HttpParts {
  /** The HTTP/1.1 server. */
  readonly server: HttpServer;
  /** Serves a request, for HTTP/2 streams as well. */
  readonly handler: RequestListener;
  /** Adds `Connection: close` to all further replies over HTTP/1.1. */
  announceEnd(): void;
  /** The application on these servers. */
  readonly fastify: { ready(): PromiseLike<unknown>; close(): PromiseLike<unknown> };
}

export interface OpenListenersOptions {
  readonly http: HttpParts;
  readonly grpc: GrpcListener;
  /** The shared port, which listens already. */
  readonly front: Front;
  /** Port of gRPC; undefined: the shared port. */
  readonly grpcFront: Front | undefined;
  readonly connections: ConnectionBounds;
  /** Maximum size of the request line with all headers, in bytes. */
  readonly maxHeaderBytes: number;
  /** Maximum number of concurrent streams of an HTTP/2 connection. */
  readonly maxStreams: number;
}

/** Servers with their listening ports. */
export interface Listeners {
  /**
   * Stops accepting, announces the end of connections, and lets calls in flight finish.
   *
   * @param grace time in milliseconds after which remaining calls are aborted.
   */
  close(grace: number): Promise<void>;
}

/** Connects the servers with the ports. */
export async function openListeners(options: OpenListenersOptions): Promise<Listeners> {
  const { grpc, grpcFront, front, maxHeaderBytes, maxStreams } = options;
  const { fastify, server: http, handler, announceEnd } = options.http;
  await fastify.ready();
  const limits = { maxHeaderBytes, maxStreams };
  // If gRPC has its own port, its streams get 404 here like any unknown path.
  const grpcHere = grpcFront === undefined;
  const shared = createHttp2Connections(grpc, { handler, grpcHere, ...limits });
  front.open({ http1: toHttp1(http), http2: shared.accept });
  const http2 = [shared];
  if (grpcFront !== undefined) {
    const alone = createHttp2Connections(grpc, { handler: undefined, ...limits });
    grpcFront.open({ http1: alone.accept, http2: alone.accept });
    http2.push(alone);
  }
  const fronts = [front, ...(grpcFront === undefined ? [] : [grpcFront])];
  const servers: NetServer[] = fronts.map(({ server }) => server);
  for (const server of servers) limitConnections(server, options.connections);

  const close = async (grace: number): Promise<void> => {
    const closed = Promise.all([
      ...servers.map(async (server) => {
        server.close();
        await once(server, "close");
      }),
      ...http2.map((each) => each.close()),
    ]).then(() => true);
    announceEnd();
    const begun = Date.now();
    while (Date.now() < begun + grace) {
      if (Date.now() > begun + Math.min(ANNOUNCEMENT, grace / 2)) {
        // Connections are closed after their reply.
        http.keepAliveTimeout = 1;
        http.closeIdleConnections();
        for (const each of fronts) each.closeSilent();
      }
      if (await Promise.race([closed, sleep(DRAIN_CHECK, false)])) break;
    }
    http.closeAllConnections();
    for (const each of http2) each.destroy();
    grpc.grpcJs.close();
    await fastify.close();
  };
  return { close };
}
