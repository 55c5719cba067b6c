import {
  type IncomingMessage,
  METHODS,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { Readable, type Writable } from "node:stream";
import type { ContextValues } from "@connectrpc/connect";
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
} from "fastify";
import { type Incoming, readBody } from "../transport/body.ts";
import { type BodyPieces, readPieces } from "../transport/body-pieces.ts";
import { announcesBody, drainUnreadBody, hasEnded, withoutOrigin } from "../transport/request.ts";
import { replyIsMade, type SlowReaderBounds, SlowReaders } from "../transport/slow-reader.ts";
import { ConnectDialect } from "./connect.ts";
import { type BodyReading, type Found, type Http, type ReplyHeaders, serve } from "./exchange.ts";
import { describeFailure, failureBody } from "./failure.ts";
import { createPathBelow, type PathTolerance } from "./mount-path.ts";
import {
  checkOptions,
  complete,
  type Gateway,
  type GatewayOptions,
  type Served,
  servedMethods,
} from "./options.ts";
import { RestDialect } from "./rest/rest.ts";
import type { Url } from "./rest/router.ts";
import { JSON_TYPE } from "./serialize.ts";
import { Shutdown } from "./shutdown.ts";
import { nodeSink, type Sink } from "./stream.ts";

/** Services and options of the Fastify plugin. */
export interface RestGatewayOptions extends Omit<GatewayOptions, "methods">, Served {
  /** Bounds of replies that wait for clients that read slowly. Default: 64 MiB together, 30 s. */
  readonly slowReaders?: SlowReaders | SlowReaderBounds | undefined;
  /**
   * Maximum number of paths of rules that are routes of Fastify, and of Connect's paths; above it,
   * only their first segments are. A lower number takes less time at the start, but a route of the
   * application such as `/v1/:id` then comes before every rule below `/v1`. Default: 512.
   */
  readonly maxRoutes?: number | undefined;
  /** Context values of the calls of a request. Default: none. */
  readonly contextValues?: ((request: FastifyRequest) => ContextValues) | undefined;
  /**
   * Time that calls have to end after `app.close()`, in milliseconds; then their signals are aborted,
   * and they fail. Default: they have any time, except streams of server-sent events, which end at
   * once: their clients connect again.
   */
  readonly shutdownTimeoutMs?: number | undefined;
  /** Error of calls that the shutdown ends. Default: UNAVAILABLE. */
  readonly shutdownError?: unknown;
}

/** Names of the options that only the plugin has, and of those that Fastify passes on. */
const PLUGIN_OPTIONS = [
  ...Object.keys({
    slowReaders: true,
    maxRoutes: true,
    contextValues: true,
    shutdownTimeoutMs: true,
    shutdownError: true,
  } satisfies Record<Exclude<keyof RestGatewayOptions, keyof GatewayOptions | keyof Served>, true>),
  "prefix",
  "logLevel",
  "logSerializers",
];

/**
 * A Fastify plugin that serves rpcs: over REST by their `google.api.http` rules, a route for each,
 * and over Connect and gRPC-Web. It registers its own routes only: hooks and plugins of the
 * application see every request.
 *
 * @throws Error that names an option that is unknown or has an unsuitable value; RuleError with the
 *   rpc and the reason when a rule cannot be served.
 */
export async function restGateway(
  fastify: FastifyInstance,
  options: RestGatewayOptions,
): Promise<void> {
  if ("requestPathPrefix" in options)
    throw new Error("restGateway: requestPathPrefix: use the option prefix of Fastify");
  checkOptions(options, PLUGIN_OPTIONS, "restGateway");
  // Bodies are read after the admission; Fastify's own parsers would read them earlier. A hook may
  // have replaced the stream.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  const paths = pathTolerance(fastify);
  const shutdown = options.shutdownTimeoutMs === undefined ? undefined : new Shutdown();
  const warn = (message: string): void => fastify.log.warn(message);
  const gateway = complete(
    { ...options, warn: options.warn ?? warn, methods: servedMethods(options) },
    { paths, shutdown },
  );
  endCallsOnClose(fastify, gateway, options);
  const rest = new RestDialect(gateway);
  const connect = new ConnectDialect(gateway);
  const below = createPathBelow(fastify.prefix, paths);
  const locate: Locate = ({ url = "", method = "" }) => {
    const { path: whole, query } = splitTarget(url);
    const path = below(whole);
    const found =
      path === undefined ? undefined : (connect.find(path, method) ?? rest.find(path, method));
    return { url, method, path: path ?? whole, query, found, locate };
  };
  const constraints = addConstraint(fastify, locate);
  const mount = createMount(fastify, gateway, options, locate);
  const { maxRoutes = 512 } = options;
  for (const url of [...rest.urls(maxRoutes), ...connect.urls(maxRoutes)])
    mount(url, url.isWild ? constraints.call : {});
  // One route for known paths with other methods.
  const methods = new Set(fastify.supportedMethods);
  for (const url of ["/", "/*"]) mount({ url, methods }, constraints.refusal);
}

/**
 * Option `frameworkErrors` of Fastify: requests that reach no route, such as those whose path is not
 * UTF-8, are answered in the form of the gateway's errors.
 */
export function frameworkErrors(
  error: FastifyError,
  _request: FastifyRequest,
  reply: FastifyReply,
): void {
  const failure = describeFailure(error);
  void reply
    .code(failure.httpStatus)
    .headers({ ...failure.headers, "content-type": JSON_TYPE })
    .send(failureBody(failure));
}

/** Differences of paths that Fastify's router ignores, such as a trailing slash. */
function pathTolerance({ initialConfig }: FastifyInstance): PathTolerance {
  // Fastify before 5.5 has the options of the router among its own.
  const { routerOptions = {}, ...own } = initialConfig as RouterConfig & {
    readonly routerOptions?: RouterConfig | undefined;
  };
  const isSet = (name: "ignoreTrailingSlash" | "ignoreDuplicateSlashes"): boolean =>
    routerOptions[name] === true || own[name] === true;
  return {
    trailingSlash: isSet("ignoreTrailingSlash"),
    duplicateSlashes: isSet("ignoreDuplicateSlashes"),
    letterCase: routerOptions.caseSensitive === false || own.caseSensitive === false,
  };
}

interface RouterConfig {
  readonly ignoreTrailingSlash?: boolean | undefined;
  readonly ignoreDuplicateSlashes?: boolean | undefined;
  readonly caseSensitive?: boolean | undefined;
}

/** Ends calls when the application closes. */
function endCallsOnClose(
  fastify: FastifyInstance,
  { eventStreams, shutdown }: Gateway,
  { shutdownTimeoutMs, shutdownError }: RestGatewayOptions,
): void {
  let timer: NodeJS.Timeout | undefined;
  fastify.addHook("preClose", (done) => {
    eventStreams.abort(shutdownError);
    if (shutdown) timer = setTimeout(() => shutdown.abort(shutdownError), shutdownTimeoutMs);
    done();
  });
  fastify.addHook("onClose", (_fastify, done) => {
    clearTimeout(timer);
    done();
  });
}

/** The place of a request in a gateway. */
interface Located {
  readonly url: string;
  readonly method: string;
  /** The path below the mount of the gateway. */
  readonly path: string;
  readonly query: string;
  readonly found: Found | undefined;
  /** The gateway that has searched. */
  readonly locate: Locate;
}

type Locate = (request: IncomingMessage) => Located;

/** The gateways of each server. */
const gatewaysOf = new WeakMap<object, Locate[]>();

/** Name of the constraint of routes; Fastify makes it part of a program. */
const CONSTRAINT = "restGateway";

/**
 * Adds a gateway to the constraint of routes of its server, so that its routes with an asterisk stand
 * beside those of the application and of other gateways. A call of one gateway precedes the 405 of
 * another one.
 *
 * @returns the constraints of the routes of calls and of refusals.
 */
function addConstraint(fastify: FastifyInstance, locate: Locate) {
  const gateways = gatewaysOf.get(fastify.server) ?? [];
  if (gateways.length === 0) {
    gatewaysOf.set(fastify.server, gateways);
    fastify.addConstraintStrategy({
      name: CONSTRAINT,
      storage: createStorage,
      validate: () => undefined,
      deriveConstraint: (request) => chooseGateway(gateways, request as LocatedRequest),
    });
  }
  const number = gateways.push(locate) - 1;
  return {
    call: { [CONSTRAINT]: `call ${number}` },
    refusal: { [CONSTRAINT]: `refusal ${number}` },
  };
}

const LOCATED = Symbol("located");

/** A request with the result of the search that has chosen its route. */
type LocatedRequest = IncomingMessage & { [LOCATED]?: Located };

function chooseGateway(gateways: readonly Locate[], request: LocatedRequest): string | undefined {
  let refusal: string | undefined;
  for (const [number, locate] of gateways.entries()) {
    const located = locate(request);
    if (located.found === undefined) continue;
    if (located.found.isCall) {
      request[LOCATED] = located;
      return `call ${number}`;
    }
    if (refusal !== undefined) continue;
    request[LOCATED] = located;
    refusal = `refusal ${number}`;
  }
  return refusal;
}

/** The place of a request; it is searched again if a hook has changed the URL since the first search. */
function placeOf(request: LocatedRequest, locate: Locate): Located {
  const known = request[LOCATED];
  const isSame =
    known?.locate === locate && known.url === request.url && known.method === request.method;
  return isSame ? known : locate(request);
}

/** Handlers by the value of the constraint, as Fastify's router keeps them. */
function createStorage() {
  const handlers = new Map<unknown, never>();
  return {
    get: (value: unknown) => handlers.get(value) ?? null,
    set: (value: unknown, handler: unknown) => void handlers.set(value, handler as never),
  };
}

/**
 * Registers routes with one handler, which runs after all hooks of the application up to
 * `preHandler`. It writes the reply itself, with the headers set by hooks; `onSend` hooks and
 * serializers do not see it, `onResponse` and `onTimeout` hooks do.
 */
function createMount(
  fastify: FastifyInstance,
  gateway: Gateway,
  options: RestGatewayOptions,
  locate: Locate,
) {
  const { slowReaders = { together: 64 * 2 ** 20, patienceMs: 30_000 }, contextValues } = options;
  const slow = slowReaders instanceof SlowReaders ? slowReaders : new SlowReaders(slowReaders);
  const parts = { slow, contextValues };
  return (
    { url, methods }: Omit<Url, "isWild">,
    constraints: Readonly<Record<string, string>>,
  ): void => {
    const method = supported(fastify, methods);
    if (method.length === 0) return;
    const handle = (request: FastifyRequest, reply: FastifyReply, problem?: FastifyError): void => {
      drainUnreadBody(request.raw, reply.raw);
      const located = placeOf(request.raw, locate);
      if (located.found === undefined) return void reply.callNotFound();
      const exchange = located.found.open(new NodeHttp(request, reply, located, parts), problem);
      if (exchange !== undefined) void serve(gateway, exchange);
    };
    fastify.route({
      method,
      url,
      constraints,
      exposeHeadRoute: false,
      // Generators of documents list the rules themselves.
      schema: { hide: true } as FastifySchema,
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

/** The methods of a route that Node parses, which Fastify then accepts. */
function supported(fastify: FastifyInstance, methods: ReadonlySet<string>): string[] {
  const names = methods.has("*")
    ? [...fastify.supportedMethods.filter((name) => name !== "OPTIONS"), ...methods]
    : [...methods];
  const unique = [...new Set(names)].filter((name) => METHODS.includes(name));
  for (const name of unique)
    if (!fastify.supportedMethods.includes(name)) fastify.addHttpMethod(name, { hasBody: true });
  return unique;
}

const CONTENT_TYPE_ERRORS: ReadonlySet<string> = new Set([
  "FST_ERR_CTP_INVALID_MEDIA_TYPE",
  "FST_ERR_ROUTE_MISSING_CONTENT_TYPE",
]);

/** Parts of a mount that its requests share. */
interface MountParts {
  readonly contextValues: RestGatewayOptions["contextValues"];
  readonly slow: SlowReaders;
}

/** A request and a response of Fastify, over HTTP/1.1 or HTTP/2. */
class NodeHttp implements Http {
  readonly path: string;
  readonly query: string;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #parts: MountParts;
  #pieces: BodyPieces | undefined;

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    { path, query }: Located,
    parts: MountParts,
  ) {
    this.#request = request;
    this.#reply = reply;
    this.#parts = parts;
    this.path = path;
    this.query = query;
  }

  get id(): string {
    return this.#request.id;
  }

  get method(): string {
    return this.#request.raw.method ?? "";
  }

  get isHttp1(): boolean {
    return this.#request.raw.httpVersionMajor === 1;
  }

  get url(): string {
    const { headers, url } = this.#request.raw;
    return `http://${headers.host ?? headers[":authority"] ?? "localhost"}${url}`;
  }

  get address(): string | undefined {
    return this.#request.raw.socket?.remoteAddress;
  }

  header(name: string): string | undefined {
    if (name === "content-encoding" && this.#isDecoded) return undefined;
    const value = this.#request.raw.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  /** Whether a hook has decompressed the body: Fastify's property of the new payload. */
  get #isDecoded(): boolean {
    const { body } = this.#request;
    return body instanceof Readable && "receivedEncodedLength" in body;
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

  contextValues(): ContextValues | undefined {
    return this.#parts.contextValues?.(this.#request);
  }

  logError(error: unknown): void {
    this.#request.log.error({ err: error }, "the call has failed with an internal error");
  }

  #incoming({ peer, principal, signal }: BodyReading): Incoming {
    const stream = this.#bodyStream;
    // A hook that reads the body must pass it on, as a new payload of preParsing.
    if (stream.readableDidRead)
      throw new Error("the body was read before the gateway, by a hook or another plugin");
    if (this.#waitsForContinue) this.#response.writeContinue();
    const isDerived = stream !== this.#request.raw;
    const hasEnded = (bytes: number): boolean => this.#isWhole(bytes);
    return { stream, peer, principal, signal, isDerived, hasEnded };
  }

  /** The body as hooks have left it. Fastify does not parse the bodies of some methods. */
  get #bodyStream(): Readable {
    const { body, raw } = this.#request;
    return body instanceof Readable ? body : raw;
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
    const isRaw = this.#bodyStream === raw;
    if (isRaw && length !== undefined && Number(length) !== bytes) return false;
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
    if (typeof body !== "string") this.#parts.slow.hold(this.#writable, body);
    this.#response.writeHead(status, this.#merge(headers));
    this.#response.end(body);
  }

  begin(headers: ReplyHeaders): void {
    this.#reply.hijack();
    // The server's idle time-out is for requests; streams have their own limits.
    this.#response.setTimeout(0, ignore);
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
    return nodeSink(this.#parts.slow, this.#writable);
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

/** No-op: Fastify's `inject` needs a listener. */
const ignore = (): void => undefined;

/** Path and query of the request target. @internal */
export function pathAndQuery({ raw }: Pick<FastifyRequest, "raw">): PathAndQuery {
  return splitTarget(raw.url ?? "");
}

interface PathAndQuery {
  readonly path: string;
  readonly query: string;
}

function splitTarget(target: string): PathAndQuery {
  const url = withoutOrigin(target);
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: mark < 0 ? "" : url.slice(mark + 1) };
}
