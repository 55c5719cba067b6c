import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from "node:http";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { answerClientError, type ClientError } from "../gateway/client-error.ts";
import { type Cors, registerCors } from "../gateway/cors.ts";
import { answerError, answerNotFound } from "../gateway/fastify-mount.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { ConnectUnary } from "../rpc/door/connect-unary.ts";

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

export interface HttpDoorOptions {
  readonly requestId: RequestIds;
  /** Asked first, for the calls of Connect that have a shorter way. */
  readonly connect: ConnectUnary;
  /** Serves REST. */
  readonly gateway: Gateway;
  readonly cors: Cors;
}

/** Fastify, on servers that get their connections from elsewhere. */
export interface HttpDoor {
  readonly fastify: FastifyInstance;
  /** The HTTP/1.1 server. */
  readonly server: Server;
  /** What serves a request, for HTTP/2 streams as well. */
  readonly handler: RequestListener;
}

/** Makes the id of a request from the one that the client sent, if any. */
export type RequestIds = (sent: string | undefined) => string;

/**
 * Makes the HTTP server with its limits. A request goes to Fastify when it is neither a plain call of
 * Connect nor one of REST: Fastify's own way from socket to handler costs as much again as the whole
 * reply.
 */
export function createHttpDoor(doorOptions: HttpDoorOptions): HttpDoor {
  const { requestId, connect, gateway, cors } = doorOptions;
  let made: { server: Server; handler: RequestListener } | undefined;
  const idOf = ({ headers }: { headers: IncomingHttpHeaders }): string => {
    const sent = headers["x-request-id"];
    return requestId(typeof sent === "string" ? sent : undefined);
  };
  const options: FastifyServerOptions = {
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    // The header is read by requestId, which checks it.
    requestIdHeader: false,
    genReqId: idOf,
    // Fastify's types know the error of an older Node.
    clientErrorHandler: (error, socket) =>
      answerClientError(error as Error as ClientError, socket, requestId(undefined)),
    frameworkErrors: answerError,
    // Calls that come while the server drains are answered like any other.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    serverFactory: (others): Server => {
      const handler: RequestListener = (request, response) => {
        const id = idOf(request);
        if (connect.handle(request, response, id) || gateway.handle(request, response, id)) return;
        others(request, response);
      };
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
  };
  const fastify = Fastify(options);
  fastify.setNotFoundHandler(answerNotFound);
  fastify.setErrorHandler(answerError);
  registerCors(fastify, cors);
  // On the raw response, which the Connect plugin writes to, so that its own refusals have it too.
  fastify.addHook("onRequest", (request, reply, done) => {
    reply.raw.setHeader("x-request-id", request.id);
    done();
  });
  if (made === undefined) throw new Error("Fastify made no server");
  return { fastify, ...made };
}
