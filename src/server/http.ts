import { createServer, type RequestListener, type Server } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";

/** Limits of HTTP/1.1. Fastify's own defaults are no time-outs at all. */
const LIMITS = {
  /** Request line and all headers, in bytes. */
  headerBytes: 16 * 1024,
  /** Body of a REST request, in bytes. */
  bodyBytes: 1024 * 1024,
  /** For a whole request to arrive, in milliseconds. */
  requestTimeout: 30_000,
  /** For its headers to arrive. */
  headersTimeout: 15_000,
  /** For the next request on a kept connection; above the usual 60 s of proxies. */
  keepAliveTimeout: 72_000,
} as const;

/** Fastify, on servers that get their connections from elsewhere. */
export interface HttpDoor {
  readonly fastify: FastifyInstance;
  /** The HTTP/1.1 server. */
  readonly server: Server;
  /** What serves a request, for HTTP/2 streams as well. */
  readonly handler: RequestListener;
}

/** Makes the HTTP server with its limits; routes are added by the caller. */
export function createHttpDoor(requestId: (sent: string | undefined) => string): HttpDoor {
  let made: { server: Server; handler: RequestListener } | undefined;
  const fastify = Fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    // The header is read by requestId, which checks it.
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const sent = headers["x-request-id"];
      return requestId(typeof sent === "string" ? sent : undefined);
    },
    // Calls that come while the server drains are answered like any other.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    serverFactory: (handler): Server => {
      const server = createServer(
        {
          maxHeaderSize: LIMITS.headerBytes,
          requestTimeout: LIMITS.requestTimeout,
          headersTimeout: LIMITS.headersTimeout,
          keepAliveTimeout: LIMITS.keepAliveTimeout,
          connectionsCheckingInterval: 5_000,
        },
        handler,
      );
      // It never listens: this starts the check of its time-outs (node:http, setupConnectionsTracking).
      server.emit("listening");
      made = { server, handler };
      return server;
    },
  });
  if (made === undefined) throw new Error("Fastify made no server");
  return { fastify, ...made };
}
