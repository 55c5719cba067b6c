import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc-web";
import { BadRequest, type BodyBounds, RequestAborted } from "../transport/body.ts";
import type { BodyPieces } from "../transport/body-pieces.ts";
import { Call, type CallTransport } from "./call.ts";
import type { Method } from "./method.ts";
import type { Gateway } from "./options.ts";
import type { Signalled } from "./serialize.ts";
import type { MethodSettings } from "./settings.ts";
import type { Shutdown } from "./shutdown.ts";
import type { Sink, StreamReply } from "./stream.ts";

/** Headers of a reply by lower-case name. */
export type ReplyHeaders = Readonly<Record<string, string | number | string[]>>;

/** An rpc in one protocol, found by the path and the method of a request. */
export interface Found {
  /** Whether the rpc has this method; a request with another one is answered with 405. */
  readonly isCall: boolean;
  /**
   * Opens the exchange of the request; undefined: it was answered.
   *
   * @param problem an error of the framework, such as a malformed Content-Type: it becomes the reply
   * after the admission.
   */
  open(http: Http, problem?: unknown): Exchange | undefined;
}

/** A protocol of the gateway: finds the rpc of a request; undefined for an unknown path. */
export interface Dialect {
  find(path: string, httpMethod: string): Found | undefined;
}

/** Reading of a request body. */
export interface BodyReading {
  readonly bounds: BodyBounds;
  /** Longest body, or longest message of a stream, in bytes. */
  readonly limit: number;
  /** The client's address, for the share of the byte budget. */
  readonly peer: string;
  /** The caller's name, for its share of the byte budget; undefined: unknown. */
  readonly principal: string | undefined;
  /** Ends the wait for the body, with its reason. */
  readonly signal: AbortSignal | undefined;
}

/** The connection of a call, for the steps that all protocols share. */
export interface Connection {
  /** Whether the request announces a body. */
  readonly hasBody: boolean;
  /** Whether the client has disconnected. */
  readonly isGone: boolean;
  /** Aborts the response, so that the client detects that it is incomplete. */
  destroy(): void;
  /** The exchange is over: nothing more is read or written. */
  finish(): void;
}

/**
 * One HTTP request and its response: Node's behind Fastify, or those of the Fetch API. The
 * protocols use HTTP only through this interface.
 */
export interface Http extends Connection {
  /** Id of the request, for logs and `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Whether it is HTTP/1, whose replies follow their request. */
  readonly isHttp1: boolean;
  /** The whole URL. */
  readonly url: string;
  /** The path without the mount prefix of the gateway. */
  readonly path: string;
  /** The query without its question mark. */
  readonly query: string;
  /** The IP address of the connection; undefined when unknown. */
  readonly address: string | undefined;
  /** A request header by lower-case name; several values joined by ", ". */
  header(name: string): string | undefined;
  headers(): Iterable<readonly [name: string, value: string]>;
  /**
   * Reads the request body to its end. The result of `use` must not be a view of the bytes.
   *
   * @throws RequestAborted for a body that was cut off; RESOURCE_EXHAUSTED over the limit or the
   * budget; DEADLINE_EXCEEDED for a body that does not arrive in time.
   */
  readBody<T>(reading: BodyReading, use: (body: Buffer) => T | Promise<T>): Promise<T>;
  /** Reads the request body piece by piece. @throws as readBody; the time limit is per piece. */
  readPieces(reading: BodyReading): BodyPieces;
  /** Values that the application gives the call; undefined: none. */
  contextValues(): ContextValues | undefined;
  /** Logs an error whose message is masked for the client. */
  logError(error: unknown): void;
  /** Registers a callback for the disconnection of the client, also if it has already happened or happens after the end of the response. */
  onGone(gone: () => void): void;
  /** Whether the head of the response was sent. */
  readonly isBegun: boolean;
  /** Sends a whole response. No-op if a response has begun. */
  respond(status: number, headers: ReplyHeaders, body: Buffer | string): void;
  /** Sends the head of a streamed response with status 200. */
  begin(headers: ReplyHeaders): void;
  /** Writer for the bytes of a streamed response. */
  readonly sink: Sink;
  /** Ends a streamed response. */
  end(last?: Buffer | string): void;
}

/** A call that an exchange serves. */
export abstract class ExchangeCall extends Call {
  /**
   * Set when the call is executed. Not a function: V8 allocates a function that is assigned to a
   * property in old space, where it retains the whole call until the next full garbage collection.
   */
  exchange: Pick<Exchange, "encode" | "prepare"> | undefined;

  override prepare(reply: Message, request: Signalled): Promise<void> | undefined {
    return this.exchange?.prepare?.(reply, request);
  }

  encode(reply: Message): unknown {
    return this.exchange?.encode(reply);
  }
}

/** A call in an HTTP request. */
export class HttpCall extends ExchangeCall {
  readonly transport: CallTransport;
  readonly http: Http;
  readonly #gateway: HeaderOptions;

  constructor(method: DescMethod, transport: CallTransport, http: Http, gateway: HeaderOptions) {
    super(method, http.id);
    this.transport = transport;
    this.http = http;
    this.#gateway = gateway;
  }

  get requestMethod(): string {
    return this.http.method;
  }

  get url(): string {
    return this.http.url;
  }

  protected address(): string {
    return this.#gateway.peerOf(this.http.address, (name) => this.header(name));
  }

  header(name: string): string | undefined {
    return this.http.header(name);
  }

  protected headers(): Headers {
    const { requestHeader } = this.#gateway;
    const headers = new Headers();
    for (const [name, value] of this.http.headers())
      if (requestHeader?.(name) !== false) headers.append(name, value);
    return headers;
  }

  protected onGone(gone: () => void): void {
    this.http.onGone(gone);
  }

  /** Returns the reader of the request body. */
  reading(bounds: BodyBounds, limit: number): BodyReading {
    const { peer, holder: principal } = this;
    return { bounds, limit, peer, principal, signal: this.limited ? this.signal : undefined };
  }

  protected override givenValues(): ContextValues | undefined {
    return this.http.contextValues();
  }

  /** Headers that a handler or interceptor has set and that are sent. */
  replyHeaders(): Record<string, string | string[]> {
    const { setHeader } = this;
    return setHeader === undefined ? {} : this.#sentHeaders(setHeader);
  }

  /** Trailers that it has set, as headers of a whole reply (Connect protocol, "Unary-Trailers"). */
  replyTrailers(): Record<string, string | string[]> {
    const { setTrailer } = this;
    if (setTrailer === undefined) return {};
    const trailers = Object.entries(this.#sentHeaders(setTrailer));
    return Object.fromEntries(trailers.map(([name, value]) => [`trailer-${name}`, value]));
  }

  /** Headers of an error; an error of another server has those of that server's reply. */
  errorHeaders({ metadata, isWireError }: ConnectError): Record<string, string | string[]> {
    return isWireError ? {} : this.#sentHeaders(metadata);
  }

  #sentHeaders(headers: Headers): Record<string, string | string[]> {
    const { responseHeader } = this.#gateway;
    const sent: Record<string, string | string[]> = {};
    for (const [name, value] of headers) {
      if (OF_THE_MESSAGE.has(name) || responseHeader?.(name) === false) continue;
      sent[name] = name === "set-cookie" ? headers.getSetCookie() : value;
    }
    return sent;
  }
}

/** Headers that describe the HTTP message or the connection, which the gateway sets itself. */
const OF_THE_MESSAGE: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "host",
  "keep-alive",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Gateway options that calls use. */
type HeaderOptions = Pick<Gateway, "peerOf" | "requestHeader" | "responseHeader">;

/**
 * A request for an rpc and its reply, in one protocol. `serve` runs the steps in this order: `read` or
 * `messages`, the rpc, then `send` or `stream`; `fail` replaces the remaining steps.
 */
export interface Exchange {
  readonly call: ExchangeCall;
  readonly connection: Connection;
  readonly method: Method;
  readonly settings: MethodSettings;
  /** Reads the request message. @throws ConnectError for a request that can't be read. */
  read(): Message | Promise<Message>;
  /** Request messages of a client stream. @throws as read, at once or during reading. */
  messages(): AsyncIterable<Message>;
  /**
   * Encodes parts of a large response message over several ticks of the event loop. Absent, or a
   * result of undefined: there is nothing to do.
   */
  prepare?(message: Message, request: Signalled): Promise<void> | undefined;
  /** Encodes a response message, once. @throws UnencodableReply */
  encode(message: Message): unknown;
  /** Sends the response message of an rpc that has one. */
  send(message: Message): void | Promise<void>;
  /** The reply of a server stream; undefined: it was sent already, and the rpc is not called. */
  stream(): StreamReply | undefined;
  /** Sends an error as the whole reply. */
  fail(error: unknown): void;
}

/**
 * Serves a call of any protocol: admits the request by its headers, reads it, calls the rpc and sends
 * the reply. An incomplete request is not executed and has no reply. Never rejects.
 */
export async function serve(gateway: Gateway, exchange: Exchange): Promise<void> {
  const { call, connection, method, settings } = exchange;
  const shutdowns = shutdownsOf(gateway, settings);
  for (const shutdown of shutdowns) shutdown.add(call);
  let isRead = false;
  try {
    if (gateway.admit !== undefined) {
      // The peer address is not available any more after the HTTP/2 stream was reset.
      if (connection.hasBody) void call.peer;
      await gateway.admit(call);
      if (connection.isGone) throw new RequestAborted();
    }
    if (settings.requestGate !== undefined) await settings.requestGate(call);
    call.exchange = exchange;
    switch (method.kind) {
      case "unary": {
        const read = exchange.read();
        const message = read instanceof Promise ? await read : read;
        isRead = true;
        const sent = exchange.send((await method.invoke(message, call)).message);
        if (sent !== undefined) await sent;
        break;
      }
      case "server_streaming": {
        const message = await exchange.read();
        isRead = true;
        await sendReplies(gateway, exchange, () => method.invoke(message, call));
        break;
      }
      case "client_streaming": {
        const messages = exchange.messages();
        isRead = true;
        await exchange.send((await method.invoke(messages, call)).message);
        break;
      }
      case "bidi_streaming": {
        const messages = exchange.messages();
        isRead = true;
        await sendReplies(gateway, exchange, () => method.invoke(messages, call));
      }
    }
  } catch (error) {
    gateway.explained(error, call);
    if (!isRead) gateway.turnedAway(error, call);
    if (error instanceof RequestAborted) connection.destroy();
    else
      exchange.fail(error instanceof Error ? error : new Error("not an error", { cause: error }));
  } finally {
    call.done();
    for (const shutdown of shutdowns) shutdown.delete(call);
    gateway.eventStreams.delete(call);
    connection.finish();
  }
}

/** Sends a stream of replies, unless the reply needs none. */
async function sendReplies(
  { sendStream }: Gateway,
  exchange: Exchange,
  invoke: () => AsyncIterable<Message>,
): Promise<void> {
  const reply = exchange.stream();
  const { call } = exchange;
  const signal = call.limited ? call.signal : undefined;
  if (reply !== undefined) await sendStream(reply, invoke(), signal);
}

/** The shutdowns that end a call with these settings. */
function shutdownsOf(
  { shutdown, shutdownOf }: Gateway,
  { shutdownSignal }: MethodSettings,
): readonly Shutdown[] {
  if (shutdown === undefined && shutdownSignal === undefined) return [];
  return [
    ...(shutdown === undefined ? [] : [shutdown]),
    ...(shutdownSignal === undefined ? [] : [shutdownOf(shutdownSignal)]),
  ];
}

/**
 * Sets the deadline of a REST call from the first of these headers: `grpc-timeout` (gRPC over
 * HTTP/2), `connect-timeout-ms` (Connect protocol) or `x-server-timeout` (seconds, also
 * fractional).
 *
 * @param maxTimeoutMs longest deadline, in milliseconds.
 * @throws INVALID_ARGUMENT for an invalid header.
 */
export function limitRestTime(call: Call, maxTimeoutMs: number): void {
  const grpc = call.header("grpc-timeout");
  const connect = call.header("connect-timeout-ms");
  const seconds = call.header("x-server-timeout");
  if (grpc !== undefined) limit(call, parseGrpcTimeout(grpc, maxTimeoutMs));
  else if (connect !== undefined) limit(call, parseConnectTimeout(connect, maxTimeoutMs));
  else if (seconds !== undefined) limit(call, parseSeconds(seconds, maxTimeoutMs));
}

interface Parsed {
  readonly timeoutMs?: number | undefined;
  readonly error?: ConnectError | undefined;
}

function limit(call: Call, { timeoutMs, error }: Parsed): void {
  if (error !== undefined) throw new BadRequest("HEADER_INVALID", error.rawMessage, error.code);
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function parseSeconds(text: string, maxTimeoutMs: number): Parsed {
  const timeoutMs = /^\d{1,8}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1_000 : Number.NaN;
  if (timeoutMs <= maxTimeoutMs) return { timeoutMs };
  return {
    error: new BadRequest(
      "HEADER_INVALID",
      `x-server-timeout must be a number of seconds, at most ${maxTimeoutMs / 1_000}`,
    ),
  };
}
