import { METHODS } from "node:http";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { drainUnreadBody } from "../transport/request.ts";
import { type SlowReaderBounds, SlowReaders } from "../transport/slow-reader.ts";
import { ConnectDialect } from "./connect.ts";
import { type Exchange, type Http, serve } from "./exchange.ts";
import { NodeHttp } from "./node-http.ts";
import {
  complete,
  type Gateway,
  type GatewayOptions,
  type Served,
  servedMethods,
} from "./options.ts";
import { RestDialect } from "./rest/rest.ts";

/** Services and options of the Fastify plugin. */
export interface RestGatewayOptions extends Omit<GatewayOptions, "methods">, Served {
  /** Bounds of replies that wait for clients that read slowly. Default: 64 MiB together, 30 s. */
  readonly slowReaders?: SlowReaders | SlowReaderBounds;
}

/**
 * A Fastify plugin that serves rpcs: over REST by their `google.api.http` rules, a route for each,
 * and over Connect and gRPC-Web. It registers its own routes only: hooks and plugins of the
 * application see every request.
 *
 * @throws RuleError with the rpc and the reason when a rule cannot be served.
 */
export async function restGateway(
  fastify: FastifyInstance,
  options: RestGatewayOptions,
): Promise<void> {
  // Bodies are read after the admission; Fastify's own parsers would read them earlier.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const warn = (message: string): void => fastify.log.warn(message);
  const gateway = complete({ warn, ...options, methods: servedMethods(options) });
  const { slowReaders = { together: 64 * 2 ** 20, patienceMs: 30_000 } } = options;
  const slow = slowReaders instanceof SlowReaders ? slowReaders : new SlowReaders(slowReaders);
  const mount = createMount(fastify, gateway, slow);
  const rest = new RestDialect(gateway);
  const method = allMethods(fastify);
  for (const { url, exact } of rest.urls) {
    mount({ method, url }, (http, problem, reply) => {
      const opened = rest.open(http, { exact, problem });
      if (opened !== "unknown") return opened;
      if (gateway.errors === "envelope") reply.callNotFound();
      else rest.refusePath(http);
      return "answered";
    });
  }
  if (options.connect === false) return;
  const connect = new ConnectDialect(gateway);
  for (const { url, method: known } of connect.urls) {
    mount({ method: CONNECT_METHODS, url }, (http, problem, reply) => {
      const opened = connect.open(http, { known, problem });
      if (opened !== "unknown") return opened;
      reply.callNotFound();
      return "answered";
    });
  }
}

const CONNECT_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** All methods that Node parses, so that a 405 for a known path lists its methods. */
function allMethods(fastify: FastifyInstance): string[] {
  const known = new Set<string>(fastify.supportedMethods);
  for (const name of METHODS)
    if (name !== "CONNECT" && !known.has(name)) fastify.addHttpMethod(name, { hasBody: true });
  return fastify.supportedMethods;
}

/**
 * Finds the rpc of a request.
 *
 * @param problem an error of the framework, such as a malformed Content-Type: it becomes the reply
 * after the admission.
 */
type Open = (
  http: Http,
  problem: FastifyError | undefined,
  reply: FastifyReply,
) => Exchange | "answered";

/**
 * Registers routes with one handler, which runs after all hooks of the application up to
 * `preHandler`. It writes the reply itself, with the headers set by hooks; `onSend` hooks and
 * serializers do not see it, `onResponse` and `onTimeout` hooks do.
 */
function createMount(fastify: FastifyInstance, gateway: Gateway, slow: SlowReaders) {
  return (route: { readonly method: string[]; readonly url: string }, open: Open): void => {
    const handle = (request: FastifyRequest, reply: FastifyReply, problem?: FastifyError): void => {
      drainUnreadBody(request.raw, reply.raw);
      const http = new NodeHttp(request, reply, slow, fastify.prefix);
      const exchange = open(http, problem, reply);
      if (exchange !== "answered") void serve(gateway, exchange);
    };
    fastify.route({
      ...route,
      exposeHeadRoute: false,
      handler: (request, reply) => handle(request, reply),
      errorHandler: (error, request, reply) => {
        // The application answers an error of a hook. An error of the content type precedes the
        // handler: without a token, the reply must be about the token.
        if (!CONTENT_TYPE_ERRORS.has(error.code)) throw error;
        handle(request, reply, error);
      },
    });
  };
}

const CONTENT_TYPE_ERRORS: ReadonlySet<string> = new Set([
  "FST_ERR_CTP_INVALID_MEDIA_TYPE",
  "FST_ERR_ROUTE_MISSING_CONTENT_TYPE",
]);
