import {
  createServer,
  METHODS as HTTP_METHODS,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { cors as connectCors } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { describeFailure, errorEnvelope, failureEnvelope, HttpFault } from "../gateway/failure.ts";
import { pathAndQuery } from "../gateway/gateway.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";
import type { HttpParts } from "../transport/listeners.ts";
import { limitPipelining } from "../transport/pipelining.ts";
import { drainUnreadBody, refuseWith, settleTarget } from "../transport/request.ts";
import type { RequestIds } from "../transport/request-id.ts";
import { refuse } from "../upstream/handler.ts";
import { answerClientError, answerConnect, type ClientError } from "./client-error.ts";
import type { AnswerReflection } from "./reflection.ts";

/** Idle time of a kept connection, in milliseconds; above the usual 60 s of proxies. */
const KEEP_ALIVE = 72_000;

export interface HttpServerOptions {
  readonly requestId: RequestIds;
  readonly cors: CorsOptions;
  /** Maximum size of the request line with all headers, in bytes. */
  readonly maxHeaderBytes: number;
  /** Time limit for receiving a request, in milliseconds; half of it for the headers. */
  readonly requestTimeoutMs: number;
  /** Called with errors whose messages are masked. */
  readonly report: (error: unknown, request: FastifyRequest) => void;
  /**
   * Handles requests for the upstream and returns true, or returns false. Undefined: no upstream. With an
   * upstream the server has no time limit for requests; the gateway limits its own.
   */
  readonly elsewhere?:
    | ((request: IncomingMessage, response: ServerResponse) => boolean)
    | undefined;
}

/** Fastify on an HTTP server that does not listen itself. */
export interface HttpServer extends HttpParts {
  /** Application with all HTTP routes. */
  readonly fastify: FastifyInstance;
}

/** Creates the HTTP server with its limits: Fastify has no time-outs by default. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { requestId, requestTimeoutMs } = options;
  let made: { server: Server; handler: RequestListener } | undefined;
  let ending = false;
  /** Response that adds `Connection: close` when its headers are written, if the service stops. */
  class Announcing extends ServerResponse {
    override writeHead(...args: unknown[]): this {
      if (ending) this.shouldKeepAlive = false;
      return super.writeHead(...(args as [number]));
    }
  }
  const fastify = Fastify({
    logger: false,
    // requestId reads and validates the header.
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const sent = headers["x-request-id"];
      return requestId(typeof sent === "string" ? sent : undefined);
    },
    schemaController: {
      compilersFactory: { buildValidator: () => noSchemas, buildSerializer: () => noSchemas },
    },
    // Existing servers ignore a slash at the end.
    routerOptions: { ignoreTrailingSlash: true },
    // Fastify's types have an older error type.
    clientErrorHandler: (error, socket) =>
      answerClientError(error as Error as ClientError, socket, requestId(undefined)),
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
    // Calls during a drain are answered.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    serverFactory: (routing): Server => {
      const handler: RequestListener = (request, response) => {
        if (settleTarget(request, response, requestId, refuse)) return;
        if (options.elsewhere?.(request, response) === true) return;
        drainUnreadBody(request, response);
        routing(request, response);
      };
      const inTurn = limitPipelining(handler);
      const server = createServer(
        {
          maxHeaderSize: options.maxHeaderBytes,
          // Longer than the gateway's limit of a body, whose error is more specific.
          requestTimeout: options.elsewhere === undefined ? requestTimeoutMs + 1_000 : 0,
          headersTimeout: Math.ceil(requestTimeoutMs / 2),
          keepAliveTimeout: KEEP_ALIVE,
          connectionsCheckingInterval: 1_000,
          requireHostHeader: false,
          ServerResponse: Announcing,
        },
        inTurn,
      );
      // A client that expects 100 Continue gets it when the body is read.
      server.on("checkContinue", inTurn);
      server.on("checkExpectation", refuseWith(417));
      server.on("connect", ({ headers }, socket) => {
        const sent = headers["x-request-id"];
        answerConnect(socket as Socket, requestId(typeof sent === "string" ? sent : undefined));
      });
      made = { server, handler };
      return server;
    },
  });
  // The server never listens, so this call starts the check of its time-outs (node:http,
  // setupConnectionsTracking). Fastify does not close a server that does not listen.
  fastify.addHook("onReady", (done) => {
    made?.server.emit("listening");
    done();
  });
  fastify.addHook("onClose", (_fastify, done) => {
    made?.server.close();
    done();
  });
  fastify.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  registerCors(fastify, options.cors);
  // A known path answers any other method with 405.
  for (const name of HTTP_METHODS)
    if (name !== "CONNECT" && !fastify.supportedMethods.includes(name))
      fastify.addHttpMethod(name, { hasBody: true });
  // Bodies of unknown paths are not read.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, _payload, done) => done(null));
  fastify.setNotFoundHandler((request, reply) =>
    answerFailure(
      new HttpFault(404, `nothing is served at ${pathAndQuery(request).path.slice(0, 200)}`),
      request,
      reply,
    ),
  );
  fastify.setErrorHandler((error: FastifyError, request, reply) => {
    if (describeFailure(error).unexpected) options.report(error, request);
    return answerFailure(error, request, reply);
  });
  if (made === undefined) throw new Error("Fastify created no server");
  return {
    fastify,
    ...made,
    announceEnd: () => {
      ending = true;
    },
  };
}

/**
 * Compiler of the schemas of routes: there are none. Fastify would load its own compilers. Effect: 5 %
 * less processor time of a start, 2 MB less memory.
 */
function noSchemas(): never {
  throw new Error("routes have no schemas: the gateway checks requests by the contract");
}

/** Answers Fastify's own errors and unknown paths with an envelope and the real status. */
function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = describeFailure(error);
  reply
    .code(failure.code)
    .headers({ ...failure.headers, "cache-control": "no-store", "x-request-id": request.id })
    .type(JSON_TYPE)
    .send(failureEnvelope(failure));
}

/**
 * Serves reflection over Connect and gRPC-Web, by connect-fastify: its requests are a stream, so it
 * needs HTTP/2.
 *
 * @param check of the header `authorization`, before anything is read; undefined: public.
 */
export async function registerReflection(
  fastify: FastifyInstance,
  reflect: AnswerReflection,
  check?: (authorization: string | undefined) => Promise<void>,
): Promise<void> {
  await fastify.register(fastifyConnectPlugin, {
    grpc: false,
    ...(check && {
      requestGate: ({ requestHeader }) => check(requestHeader.get("authorization") ?? undefined),
    }),
    readMaxBytes: 4 * 1024,
    routes: (router) =>
      router.service(ServerReflection, {
        async *serverReflectionInfo(requests) {
          for await (const request of requests) yield reflect(request);
        },
      }),
  });
}

/** Options of cross-origin requests. */
export interface CorsOptions {
  /** `*` for all, or origins such as `https://files.example.org`. */
  readonly origins: "*" | readonly string[];
}

/**
 * Makes a Fastify application answer preflights and mark its replies for pages of other origins, on
 * every path (Fetch standard, section 3.2). No credentials mode: cookies are not used, so `*`
 * reveals nothing.
 *
 * @throws Error that names an invalid origin.
 */
export function registerCors(fastify: FastifyInstance, options: CorsOptions): void {
  const allowed = options.origins === "*" ? "*" : new Set(options.origins.map(readOrigin));
  // No origin is allowed.
  if (allowed !== "*" && allowed.size === 0) return;
  fastify.addHook("onRequest", (request, reply, done) => {
    const { origin } = request.headers;
    const mayCall = isAllowed(allowed, origin);
    if (allowed !== "*") reply.header("vary", "Origin");
    if (origin !== undefined && mayCall) {
      reply.header("access-control-allow-origin", allowed === "*" ? "*" : origin);
      reply.header("access-control-expose-headers", EXPOSED_HEADERS);
    }
    if (!isPreflight(request)) return done();
    if (mayCall) reply.code(204).headers(PERMISSIONS).send();
    else
      reply
        .code(403)
        .type(JSON_TYPE)
        .send(errorEnvelope(403, "this origin is not allowed (MOORING_CORS_ORIGINS)"));
  });
}

const MAX_AGE = 7_200;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// `*` does not cover Authorization, and old browsers do not support it: known headers are listed.
const REQUEST_HEADERS = [
  "*",
  "Authorization",
  "If-None-Match",
  "If-Match",
  "Last-Event-ID",
  "X-Request-Id",
  "Mooring-At-Least-Revision",
  ...connectCors.allowedHeaders,
];

const EXPOSED_HEADERS = [
  "ETag",
  "X-Request-Id",
  "Retry-After",
  "Error-Reason",
  "Error-Metadata",
  "Mooring-Stale-Seconds",
  "Mooring-Upstream",
  ...connectCors.exposedHeaders,
].join(", ");

type Allowed = "*" | ReadonlySet<string>;

/** Headers of the answer to a preflight. */
const PERMISSIONS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS.join(", "),
  "access-control-allow-headers": REQUEST_HEADERS.join(", "),
  "access-control-max-age": String(MAX_AGE),
};

function isPreflight({ method, headers }: FastifyRequest): boolean {
  if (method !== "OPTIONS" || headers.origin === undefined) return false;
  return headers["access-control-request-method"] !== undefined;
}

function isAllowed(allowed: Allowed, origin: string | undefined): boolean {
  return allowed === "*" || (origin !== undefined && allowed.has(origin));
}

function readOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = text.replace(/\/$/, "");
  if (url && url.origin !== "null" && url.host !== "" && bare.toLowerCase() === url.origin) {
    return url.origin;
  }
  throw new Error(`"${text}" is no origin: write scheme, host and port, as https://example.org`);
}
