import { METHODS, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Incoming, readBody } from "../transport/body.ts";
import { type BodyPieces, readPieces } from "../transport/body-pieces.ts";
import { announcesBody, drainUnreadBody, hasEnded, withoutOrigin } from "../transport/request.ts";
import { replyIsMade, type SlowReaderBounds, SlowReaders } from "../transport/slow-reader.ts";
import { ConnectDialect } from "./connect.ts";
import {
  type BodyReading,
  type Exchange,
  type Http,
  type ReplyHeaders,
  serve,
} from "./exchange.ts";
import {
  complete,
  type Gateway,
  type GatewayOptions,
  type Served,
  servedMethods,
} from "./options.ts";
import { RestDialect } from "./rest/rest.ts";
import { nodeSink, type Sink } from "./stream.ts";

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

/** A request and a response of Fastify, over HTTP/1.1 or HTTP/2. */
class NodeHttp implements Http {
  readonly path: string;
  readonly query: string;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #slow: SlowReaders;
  #pieces: BodyPieces | undefined;

  /** @param prefix of the path, which the gateway's rules do not have. */
  constructor(request: FastifyRequest, reply: FastifyReply, slow: SlowReaders, prefix: string) {
    this.#request = request;
    this.#reply = reply;
    this.#slow = slow;
    const { path, query } = pathAndQuery(request);
    this.path = path.slice(prefix.length);
    this.query = query;
  }

  get id(): string {
    return this.#request.id;
  }

  get method(): string {
    return this.#request.raw.method ?? "";
  }

  get url(): string {
    const { headers, url } = this.#request.raw;
    return `http://${headers.host ?? headers[":authority"] ?? "localhost"}${url}`;
  }

  get address(): string | undefined {
    return this.#request.raw.socket?.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.#request.raw.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  *headers(): Iterable<readonly [string, string]> {
    for (const [name, value] of Object.entries(this.#request.raw.headers)) {
      if (name.startsWith(":") || value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) yield [name, one];
    }
  }

  get hasBody(): boolean {
    return announcesBody(this.#request.raw);
  }

  readBody<T>(reading: BodyReading, use: (body: Buffer) => T | Promise<T>): Promise<T> {
    return readBody(this.#incoming(reading), reading.bounds, reading.limit, use);
  }

  readPieces(reading: BodyReading): BodyPieces {
    this.#pieces = readPieces(this.#incoming(reading), reading.bounds);
    return this.#pieces;
  }

  #incoming({ peer, signal }: BodyReading): Incoming {
    const { raw } = this.#request;
    if (this.#waitsForContinue) this.#response.writeContinue();
    return { stream: raw, peer, signal, hasEnded: (bytes) => this.#isWhole(bytes) };
  }

  /**
   * Whether the client waits for status 100 before it sends the body (RFC 9110, section 10.1.1).
   * Node sends it before the request gets here, unless the server listens for `checkContinue`.
   */
  get #waitsForContinue(): boolean {
    const { raw, server } = this.#request;
    if (!/100-continue/i.test(raw.headers.expect ?? "")) return false;
    const { stream } = this.#response as { stream?: ServerHttp2Stream };
    if (stream !== undefined) return (stream.sentInfoHeaders?.length ?? 0) === 0;
    return server.server.listenerCount("checkContinue") > 0;
  }

  #isWhole(bytes: number): boolean {
    const { raw } = this.#request;
    const length = raw.headers["content-length"];
    if (length !== undefined && Number(length) !== bytes) return false;
    return hasEnded(raw);
  }

  get #response(): ServerResponse {
    return this.#reply.raw;
  }

  /** The response of an HTTP/2 stream does not report that its stream was destroyed. */
  get isGone(): boolean {
    const { stream } = this.#response as { stream?: { readonly destroyed: boolean } };
    return this.#response.destroyed || stream?.destroyed === true;
  }

  onGone(gone: () => void): void {
    if (this.isGone) gone();
    else this.#response.once("close", gone);
  }

  get isBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a reply with the headers set by hooks. */
  respond(status: number, headers: ReplyHeaders, body: Buffer | string): void {
    if (this.isBegun || this.isGone) return;
    if (typeof body !== "string") this.#slow.hold(this.#writable, body);
    this.#response.writeHead(status, this.#merge(headers));
    this.#response.end(body);
  }

  begin(headers: ReplyHeaders): void {
    this.#reply.hijack();
    // The server's idle time-out is for requests; streams have their own limits.
    this.#response.setTimeout(0);
    this.#response.writeHead(200, this.#merge(headers));
    this.#response.flushHeaders();
  }

  /** Headers of hooks and of the reply, which take precedence; `Vary` of both is combined. */
  #merge(headers: ReplyHeaders): OutgoingHttpHeaders {
    const merged = this.#reply.getHeaders() as OutgoingHttpHeaders;
    const { vary } = merged;
    Object.assign(merged, headers);
    if (typeof vary === "string" && headers["vary"] !== undefined)
      merged["vary"] = `${headers["vary"]}, ${vary}`;
    return merged;
  }

  /** Over HTTP/2 the stream of the response. */
  get #writable(): Writable {
    return (this.#response as { stream?: Writable }).stream ?? this.#response;
  }

  get sink(): Sink {
    return nodeSink(this.#slow, this.#writable);
  }

  end(last?: Buffer | string): void {
    this.#response.end(last);
  }

  destroy(): void {
    this.#response.destroy();
  }

  finish(): void {
    this.#pieces?.stop();
    // Over HTTP/2 a large reply is sent piece by piece, at the speed of its client.
    if (!this.#response.writableEnded) replyIsMade(this.#writable);
  }
}

/** Path and query of the request target. @internal */
export function pathAndQuery({ raw }: Pick<FastifyRequest, "raw">): {
  readonly path: string;
  readonly query: string;
} {
  const url = withoutOrigin(raw.url ?? "");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: mark < 0 ? "" : url.slice(mark + 1) };
}
