import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-grpc";
import type { PeerOf } from "../transport/address.ts";
import { BadRequest, discardRest, readBody } from "../transport/body.ts";
import { decodeBinary } from "../transport/decode.ts";
import type { RequestIds } from "../transport/request-id.ts";
import type { SlowReaders } from "../transport/slow-reader.ts";
import { toConnectError } from "./application-error.ts";
import { type Coding, DEFLATE, decompressionFor, GZIP } from "./coding.ts";
import { type Encoded, encode, encodeOnce } from "./encoded.ts";
import { type Connection, type Exchange, ExchangeCall, serve } from "./exchange.ts";
import { tooLargeReply } from "./failure.ts";
import { failureTrailers } from "./grpc-status.ts";
import { frame, PREFIX_LENGTH, unwrap } from "./length-prefix.ts";
import { isRead, type Method } from "./method.ts";
import { complete, type Gateway, type GatewayOptions } from "./options.ts";
import type { MethodSettings, RouterOptions } from "./settings.ts";
import { nodeSink, type StreamReply } from "./stream.ts";

/** Options of gRPC. Those of services and rpcs hold as well. */
export interface GrpcHandlerOptions
  extends Pick<
      GatewayOptions,
      | "methods"
      | "peerOf"
      | "bounds"
      | "bodyLimit"
      | "messageLimits"
      | "immutableReplies"
      | "admit"
      | "refused"
      | "dropped"
      | "errorDomain"
      | "explain"
      | "streams"
    >,
    Pick<
      RouterOptions,
      "binaryOptions" | "requestGate" | "readMaxBytes" | "writeMaxBytes" | "shutdownSignal"
    > {
  readonly requestId: RequestIds;
  readonly slowReaders: Pick<SlowReaders, "hold" | "write">;
  /** Codings of requests and replies. Default: gzip and deflate. */
  readonly acceptCompression?: RouterOptions["acceptCompression"];
  /** Shortest message of a reply that is compressed, in bytes. Default: none is. */
  readonly compressMinBytes?: RouterOptions["compressMinBytes"];
  /** Longest deadline that a client may request, in milliseconds. Default: any. */
  readonly maxTimeoutMs?: RouterOptions["maxTimeoutMs"];
}

/** Serves gRPC calls on HTTP/2 streams. */
export interface GrpcHandler {
  /** @returns false for a method that is not served here; nothing was done. */
  handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Serves methods with one request message on the streams of an HTTP/2 server (gRPC over HTTP/2), by
 * the steps of all protocols. grpc-js serves all other methods
 * (docs/decisions/0081-grpc-js-by-its-public-interface.md).
 */
export function createGrpcHandler(options: GrpcHandlerOptions): GrpcHandler {
  const { requestId, slowReaders, ...others } = options;
  const gateway = complete({
    ...others,
    acceptCompression: others.acceptCompression ?? [GZIP, DEFLATE],
    compressMinBytes: others.compressMinBytes ?? Number.POSITIVE_INFINITY,
    maxTimeoutMs: others.maxTimeoutMs ?? Number.MAX_SAFE_INTEGER,
  });
  const served = gateway.methods.filter(
    (method) =>
      (method.kind === "unary" || method.kind === "server_streaming") &&
      gateway.settingsOf(method).servesGrpc,
  );
  const methods = new Map(
    served.map((method): [string, GrpcMethod] => {
      const settings = gateway.settingsOf(method);
      const { parent, name } = method.desc;
      return [`/${parent.typeName}/${name}`, { method, settings, head: headOf(settings) }];
    }),
  );
  const parts = { gateway, slowReaders };
  return {
    handle: (stream, headers) => {
      const found = methods.get(headers[":path"] ?? "");
      if (found === undefined) return false;
      const sent = headers["x-request-id"];
      const id = requestId(typeof sent === "string" ? sent : undefined);
      const call = new GrpcCall(found.method.desc, id, stream, headers, gateway.peerOf);
      void serve(gateway, new GrpcExchange(found, call, parts));
      return true;
    },
  };
}

/** A call on an HTTP/2 stream. */
class GrpcCall extends ExchangeCall {
  readonly transport = "grpc";
  readonly requestMethod = "POST";
  readonly stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #peerOf: PeerOf;

  constructor(
    method: DescMethod,
    requestId: string,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    peerOf: PeerOf,
  ) {
    super(method, requestId);
    this.stream = stream;
    this.#headers = headers;
    this.#peerOf = peerOf;
  }

  get url(): string {
    return `http://${this.#headers[":authority"] ?? "localhost"}${this.#headers[":path"]}`;
  }

  protected address(): string {
    return this.#peerOf(this.stream.session?.socket?.remoteAddress, (name) => this.header(name));
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  protected headers(): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.#headers)) {
      if (name.startsWith(":") || value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
    }
    return headers;
  }

  protected onGone(gone: () => void): void {
    const { stream } = this;
    // Not the writable side: Node ends it when the stream is reset.
    if (stream.closed) gone();
    else stream.once("close", gone);
  }
}

/** A method with its settings, and the headers of its replies. */
interface GrpcMethod {
  readonly method: Method;
  readonly settings: MethodSettings;
  readonly head: OutgoingHttpHeaders;
}

/** Parts of a handler that its exchanges share. */
interface GrpcParts {
  readonly gateway: Gateway;
  readonly slowReaders: GrpcHandlerOptions["slowReaders"];
}

/** A gRPC request and its reply. */
class GrpcExchange implements Exchange, Connection {
  readonly call: GrpcCall;
  readonly method: Method;
  readonly settings: MethodSettings;
  readonly #head: OutgoingHttpHeaders;
  readonly #parts: GrpcParts;
  /** A reply is encoded for its report, and then sent. */
  #encoded: { readonly message: Message; readonly encoded: Encoded } | undefined;

  constructor({ method, settings, head }: GrpcMethod, call: GrpcCall, parts: GrpcParts) {
    this.method = method;
    this.settings = settings;
    this.#head = head;
    this.call = call;
    this.#parts = parts;
  }

  get connection(): Connection {
    return this;
  }

  readonly hasBody = true;

  get isGone(): boolean {
    const { stream } = this.call;
    return stream.closed || stream.destroyed;
  }

  destroy(): void {
    this.call.stream.close(constants.NGHTTP2_CANCEL);
  }

  finish(): void {
    // Nothing is left: HTTP/2 ends the stream itself.
  }

  read(): Promise<Message> {
    const { call, settings } = this;
    limitTime(call, settings.maxTimeoutMs);
    const { stream, peer, holder: principal } = call;
    const { readMaxBytes, codings } = settings;
    const { limits, binaryDepth: depth, readUnknownFields } = settings.request;
    const encoding = call.header("grpc-encoding");
    const decompress = decompressionFor(encoding, codings, "grpc-accept-encoding");
    const hasEnded = (): boolean => !(stream.closed || stream.destroyed || stream.aborted);
    const signal = call.limited ? call.signal : undefined;
    const incoming = { stream, peer, principal, hasEnded, signal };
    const { bounds } = this.#parts.gateway;
    return readBody(incoming, bounds, readMaxBytes + PREFIX_LENGTH, async (body) => {
      const bytes = await unwrap(body, readMaxBytes, decompress);
      return decodeBinary(call.method.input, bytes, limits, { depth, readUnknownFields });
    });
  }

  messages(): never {
    throw new Error("streams of requests are served by grpc-js");
  }

  encode(message: Message): Encoded {
    if (this.#encoded?.message === message) return this.#encoded.encoded;
    const { reply, writeMaxBytes } = this.settings;
    const { output } = this.call.method;
    const encoded = (this.#isKept ? encodeOnce : encode)(output, message, "proto", reply);
    const { length } = encoded.bytes;
    if (length > writeMaxBytes) throw tooLargeReply(length, writeMaxBytes);
    this.#encoded = { message, encoded };
    return encoded;
  }

  /** The encoded reply of a read is shared with other calls that send the same message. */
  get #isKept(): boolean {
    return this.settings.isImmutable && isRead(this.call.method);
  }

  #frame(message: Message, coding: Coding | undefined): Buffer | Promise<Buffer> {
    const { compressMinBytes: minBytes } = this.settings;
    return frame(this.encode(message), { coding, minBytes, isKept: this.#isKept });
  }

  /** The coding of a reply; undefined: none. */
  get #coding(): Coding | undefined {
    const { codings, accepted, compressMinBytes } = this.settings;
    if (compressMinBytes === Number.POSITIVE_INFINITY) return undefined;
    const [name] = accepted(this.call.header("grpc-accept-encoding"));
    return codings.find((coding) => coding.name === name);
  }

  async send(message: Message): Promise<void> {
    const { call } = this;
    const coding = this.#coding;
    // Before the headers: for a reply without a valid encoding only the status is sent.
    const reply = await this.#frame(message, coding);
    if (isOver(call)) return;
    this.#parts.slowReaders.hold(call.stream, reply);
    this.#begin(WELL, coding);
    call.stream.end(reply);
  }

  stream(): StreamReply {
    const { call } = this;
    const coding = this.#coding;
    const status: Status = {};
    return {
      sink: nodeSink(this.#parts.slowReaders, call.stream),
      isOpen: () => isOver(call),
      open: () => this.#begin(status, coding),
      encode: (message) => this.#frame(message, coding),
      end: (error) => {
        if (error !== undefined) status.error = toConnectError(error);
        call.stream.end();
      },
    };
  }

  /** @param status read when the reply ends. */
  #begin(status: Status, coding?: Coding): void {
    const { call } = this;
    const { stream } = call;
    const head =
      coding === undefined ? this.#head : { ...this.#head, "grpc-encoding": coding.name };
    stream.respond(withSet(head, call.setHeader), { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailersOf(call, status.error)));
  }

  /**
   * A reply of trailers only (gRPC over HTTP/2, "Responses"), or one without messages if the handler
   * has set headers: clients treat the headers of a single frame as trailers.
   */
  fail(thrown: unknown): void {
    const { call } = this;
    if (isOver(call)) return;
    const error = toConnectError(thrown);
    const { stream } = call;
    if (call.setHeader === undefined)
      stream.respond({ ...this.#head, ...trailersOf(call, error) }, { endStream: true });
    else {
      this.#begin({ error });
      stream.end();
    }
    // Sends RST_STREAM(NO_ERROR) after an early response (RFC 9113, section 8.1).
    if (!stream.readableEnded) discardRest(stream, () => stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

function limitTime(call: GrpcCall, maxTimeoutMs: number): void {
  const { timeoutMs, error } = parseTimeout(call.header("grpc-timeout") ?? null, maxTimeoutMs);
  if (error !== undefined) throw new BadRequest("HEADER_INVALID", error.rawMessage, error.code);
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

/** The headers of a method's replies. */
function headOf({ codings }: MethodSettings): OutgoingHttpHeaders {
  return Object.freeze({
    ":status": 200,
    "content-type": "application/grpc+proto",
    "grpc-accept-encoding": ["identity", ...codings.map(({ name }) => name)].join(","),
  });
}

/** Reports whether the call was answered or its client has disconnected. */
function isOver({ stream }: GrpcCall): boolean {
  return stream.headersSent || stream.closed || stream.destroyed;
}

/** Reason for which a stream ended; undefined: it is complete. */
interface Status {
  error?: ConnectError;
}

/** Status of a reply that cannot fail any more. */
const WELL: Status = Object.freeze({});

/** Not indexed in the compression tables, which would fill with values that are never repeated. */
const NEVER_AGAIN = ["x-request-id"];

function trailersOf(call: GrpcCall, error: ConnectError | undefined): OutgoingHttpHeaders {
  const trailers: OutgoingHttpHeaders = {
    "grpc-status": "0",
    "x-request-id": call.requestId,
    [sensitiveHeaders]: NEVER_AGAIN,
  };
  return withSet(
    error === undefined ? trailers : { ...trailers, ...failureTrailers(error) },
    call.setTrailer,
  );
}

/** @param set by a handler or an interceptor; headers of the protocol take precedence. */
function withSet(own: OutgoingHttpHeaders, set: Headers | undefined): OutgoingHttpHeaders {
  return set === undefined ? own : { ...Object.fromEntries(set), ...own };
}
