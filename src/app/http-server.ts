import {
  createServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { describeFailure, failureEnvelope, HttpFault } from "../gateway/failure.ts";
import { pathAndQuery } from "../gateway/gateway.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";
import type { HttpParts } from "../transport/listeners.ts";
import { limitPipelining } from "../transport/pipelining.ts";
import { drainUnreadBody, refuseWith, settleTarget } from "../transport/request.ts";
import type { RequestIds } from "../transport/request-id.ts";
import { refuse } from "../upstream/handler.ts";
import { answerClientError, answerConnect, type ClientError } from "./client-error.ts";
import { type CorsOptions, registerCors } from "./cors.ts";

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
  readonly forward?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

/** Fastify on an HTTP server that does not listen itself. */
export interface HttpServer extends HttpParts {
  /** Application with all HTTP routes. */
  readonly fastify: FastifyInstance;
}

/** Creates the HTTP server with its limits: Fastify has no time-outs by default. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { requestId } = options;
  let bare: BareServer | undefined;
  const fastify = Fastify({
    logger: false,
    // requestId reads and validates the header.
    requestIdHeader: false,
    genReqId: ({ headers }) => requestId(sentId(headers)),
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
      bare = createBareServer(routing, options);
      return bare.server;
    },
  });
  if (bare === undefined) throw new Error("Fastify created no server");
  const { server } = bare;
  // The server never listens, so this call starts the check of its time-outs (node:http,
  // setupConnectionsTracking). Fastify does not close a server that does not listen.
  fastify.addHook("onReady", (done) => {
    server.emit("listening");
    done();
  });
  fastify.addHook("onClose", (_fastify, done) => {
    server.close();
    done();
  });
  fastify.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  registerCors(fastify, options.cors);
  answerFailures(fastify, options);
  return { fastify, ...bare };
}

/** HTTP server of Node.js, and what the listeners need of it. */
type BareServer = Omit<HttpParts, "fastify">;

/** @param routing passes a request to Fastify. */
function createBareServer(
  routing: RequestListener,
  { requestId, requestTimeoutMs, maxHeaderBytes, forward }: HttpServerOptions,
): BareServer {
  let ending = false;
  /** Response that adds `Connection: close` when its headers are written, if the service stops. */
  class Announcing extends ServerResponse {
    override writeHead(...args: unknown[]): this {
      if (ending) this.shouldKeepAlive = false;
      return super.writeHead(...(args as [number]));
    }
  }
  const handler: RequestListener = (request, response) => {
    if (settleTarget(request, response, requestId, refuse)) return;
    if (forward?.(request, response) === true) return;
    drainUnreadBody(request, response);
    routing(request, response);
  };
  const pipelined = limitPipelining(handler);
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      // Longer than the gateway's limit of a body, whose error is more specific.
      requestTimeout: forward === undefined ? requestTimeoutMs + 1_000 : 0,
      headersTimeout: Math.ceil(requestTimeoutMs / 2),
      keepAliveTimeout: KEEP_ALIVE,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      ServerResponse: Announcing,
    },
    pipelined,
  );
  // A client that expects 100 Continue gets it when the body is read.
  server.on("checkContinue", pipelined);
  server.on("checkExpectation", refuseWith(417));
  server.on("connect", ({ headers }, socket) =>
    answerConnect(socket as Socket, requestId(sentId(headers))),
  );
  return {
    server,
    handler,
    announceEnd: () => {
      ending = true;
    },
  };
}

/** Id of a request as its client has sent it. */
function sentId({ "x-request-id": sent }: IncomingMessage["headers"]): string | undefined {
  return typeof sent === "string" ? sent : undefined;
}

/** Answers unknown paths and Fastify's own errors. */
function answerFailures(
  fastify: FastifyInstance,
  { report }: Pick<HttpServerOptions, "report">,
): void {
  // A known path answers any other method with 405.
  for (const name of METHODS)
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
    if (describeFailure(error).unexpected) report(error, request);
    return answerFailure(error, request, reply);
  });
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
