import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import { create, type DescMethod, type Message, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  BadRequest_FieldViolationSchema,
  BadRequestSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import type { PeerOf } from "../transport/address.ts";
import {
  BadRequest,
  type BodyBounds,
  discardRest,
  type MessageLimits,
  RequestAborted,
  readBody,
} from "../transport/body.ts";
import { decodeBinary } from "../transport/decode.ts";
import type { RequestIds } from "../transport/request-id.ts";
import type { SlowReaders } from "../transport/slow-reader.ts";
import { Call } from "./call.ts";
import { DEFLATE, decompressionFor, GZIP } from "./coding.ts";
import { encodeOnce } from "./encoded.ts";
import { wellFormed } from "./failure.ts";
import { PREFIX_LENGTH, prefixed, unwrap, wrap } from "./length-prefix.ts";
import { isRead, type Method, type StreamMethod, type UnaryMethod } from "./method.ts";
import type { Explained } from "./options.ts";
import { toConnectError } from "./report.ts";
import { serialize } from "./serialize.ts";
import { nodeSink, type SendStream, type StreamReply } from "./stream.ts";

export interface GrpcHandlerOptions {
  readonly methods: readonly Method[];
  readonly requestId: RequestIds;
  /** Finds a client's address. */
  readonly peerOf: PeerOf;
  readonly bounds: BodyBounds;
  /** Longest message of a method's requests, in bytes. */
  readonly bodyLimit: (method: DescMethod) => number;
  /** Bounds of a method's request messages. */
  readonly messageLimits: (method: DescMethod) => MessageLimits;
  readonly sendStream: SendStream;
  readonly slowReaders: Pick<SlowReaders, "hold" | "write">;
  /** Admits a call by its headers, or throws, before a byte of its body is read. */
  readonly admit: (call: Call) => void | Promise<void>;
  /** Adds reason and details to the error of a request that cannot be read. */
  readonly explained?: Explained;
  /** Called for calls that are refused before they reach their method. */
  readonly refused: (error: ConnectError, call: Call) => void;
  /** Called for calls that never ended, and so were not executed. */
  readonly dropped: (error: ConnectError, call: Call) => void;
}

/** Serves gRPC calls on HTTP/2 streams. */
export interface GrpcHandler {
  /** @returns false for a method that is not served here; nothing was done. */
  handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Serves methods with one request message on the streams of an HTTP/2 server (gRPC over HTTP/2).
 * grpc-js serves all other methods (docs/decisions/0081-grpc-js-by-its-public-interface.md).
 */
export function createGrpcHandler(options: GrpcHandlerOptions): GrpcHandler {
  const methods = new Map(
    options.methods
      .filter((method) => method.kind === "unary" || method.kind === "server_streaming")
      .map((method) => [`/${method.desc.parent.typeName}/${method.desc.name}`, method]),
  );
  return {
    handle: (stream, headers) => {
      const method = methods.get(headers[":path"] ?? "");
      if (method === undefined) return false;
      void serve(method, new GrpcCall(method.desc, stream, headers, options), options);
      return true;
    },
  };
}

/** A call on an HTTP/2 stream. */
class GrpcCall extends Call {
  readonly transport = "grpc";
  readonly requestMethod = "POST";
  readonly stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #peerOf: PeerOf;
  #sent: { readonly reply: Message; readonly bytes: Buffer } | undefined;

  constructor(
    method: DescMethod,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { requestId, peerOf }: GrpcHandlerOptions,
  ) {
    const sent = headers["x-request-id"];
    super(method, requestId(typeof sent === "string" ? sent : undefined));
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

  /** A reply is encoded for its report, and then sent. */
  encode(reply: Message): Buffer {
    if (this.#sent?.reply !== reply) this.#sent = { reply, bytes: bytesOf(this, reply) };
    return this.#sent.bytes;
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

/** Codings of requests. */
const CODINGS = [GZIP, DEFLATE];
/** Longest time-out, in milliseconds; a longer one means none. */
const MAX_TIME = Number.MAX_SAFE_INTEGER;

async function serve(
  method: UnaryMethod | StreamMethod,
  call: GrpcCall,
  options: GrpcHandlerOptions,
): Promise<void> {
  const { admit, refused, dropped } = options;
  const fail = (error: unknown): void => sendFailure(call, toConnectError(error));
  let message: Message;
  // A stream that fails before it is read loses its peer address.
  void call.peer;
  try {
    // The time counts from the headers, including the wait for the body.
    limitTime(call);
    await admit(call);
    message = await readMessage(method.desc, call, options);
  } catch (error) {
    call.done();
    options.explained?.(error, call);
    if (error instanceof RequestAborted) dropped(error, call);
    else {
      refused(toConnectError(error), call);
      fail(error);
    }
    return;
  }
  try {
    if (method.kind === "unary") {
      // Before the headers: for a reply without a valid encoding only the status is sent.
      const reply = call.encode((await method.invoke(message, call)).message);
      options.slowReaders.hold(call.stream, reply);
      sendReply(call, reply);
    } else await options.sendStream(streamReply(call, options), method.invoke(message, call));
  } catch (error) {
    fail(error);
  } finally {
    call.done();
  }
}

function limitTime(call: GrpcCall): void {
  const { timeoutMs, error } = parseTimeout(call.header("grpc-timeout") ?? null, MAX_TIME);
  if (error !== undefined) throw new BadRequest("HEADER_INVALID", error.rawMessage, error.code);
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function readMessage(
  { input }: DescMethod,
  call: GrpcCall,
  { bounds, bodyLimit, messageLimits }: GrpcHandlerOptions,
): Promise<Message> {
  const { stream, peer } = call;
  const limits = messageLimits(call.method);
  const limit = bodyLimit(call.method);
  const encoding = call.header("grpc-encoding");
  const decompress = decompressionFor(encoding, CODINGS, "grpc-accept-encoding");
  const hasEnded = (): boolean => !(stream.closed || stream.destroyed || stream.aborted);
  const incoming = { stream, peer, hasEnded, signal: call.limited ? call.signal : undefined };
  return readBody(incoming, bounds, limit + PREFIX_LENGTH, (body) => {
    const bytes = unwrap(body, limit, decompress);
    // Most are not compressed, and a wait costs as much as reading them.
    return bytes instanceof Promise
      ? bytes.then((plain) => decodeBinary(input, plain, limits))
      : decodeBinary(input, bytes, limits);
  });
}

const HEAD: OutgoingHttpHeaders = Object.freeze({
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "identity,gzip,deflate",
});

/** Reports whether the call was answered or its client has disconnected. */
function isOver({ stream }: GrpcCall): boolean {
  return stream.headersSent || stream.closed || stream.destroyed;
}

function sendReply(call: GrpcCall, reply: Buffer): void {
  if (isOver(call)) return;
  begin(call, WELL);
  call.stream.end(reply);
}

/** Encoded message with its prefix; that of a read is shared with other calls of the same reply. */
function bytesOf({ method }: GrpcCall, message: Message): Buffer {
  return isRead(method)
    ? wrap(encodeOnce(method.output, message, "proto").bytes)
    : prefixed(serialize(method.output, message));
}

/** Reason for which a stream ended; undefined: it is complete. */
interface Status {
  error?: ConnectError;
}

/** Status of a reply that cannot fail any more. */
const WELL: Status = Object.freeze({});

/** @param status called when the reply ends. */
function begin(call: GrpcCall, status: Status): void {
  const { stream } = call;
  stream.respond(withSet(HEAD, call.setHeader), { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailersOf(call, status.error)));
}

function streamReply(call: GrpcCall, { slowReaders }: GrpcHandlerOptions): StreamReply {
  const { stream } = call;
  const status: Status = {};
  return {
    sink: nodeSink(slowReaders, stream),
    isOpen: () => isOver(call),
    open: () => begin(call, status),
    encode: (message) => bytesOf(call, message),
    end: (error) => {
      if (error !== undefined) status.error = toConnectError(error);
      stream.end();
    },
  };
}

/**
 * A reply of trailers only (gRPC over HTTP/2, "Responses"), or one without messages if the handler
 * has set headers: clients treat the headers of a single frame as trailers.
 */
function sendFailure(call: GrpcCall, error: ConnectError): void {
  if (isOver(call)) return;
  const { stream } = call;
  if (call.setHeader === undefined)
    stream.respond({ ...HEAD, ...trailersOf(call, error) }, { endStream: true });
  else {
    begin(call, { error });
    stream.end();
  }
  // Sends RST_STREAM(NO_ERROR) after an early response (RFC 9113, section 8.1).
  if (!stream.readableEnded) discardRest(stream, () => stream.close(constants.NGHTTP2_NO_ERROR));
}

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

function failureTrailers(failure: ConnectError): OutgoingHttpHeaders {
  const error = withinTrailers(wellFormed(failure));
  return {
    ...Object.fromEntries(setTrailerStatus(new Headers(), error)),
    // Escapes only required characters (gRPC over HTTP/2, "Responses"): grpc-js decodes few others.
    "grpc-message": escapeMessage(error.rawMessage),
  };
}

function escapeMessage(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}

/** @param set by a handler or an interceptor; headers of the protocol take precedence. */
function withSet(own: OutgoingHttpHeaders, set: Headers | undefined): OutgoingHttpHeaders {
  return set === undefined ? own : { ...Object.fromEntries(set), ...own };
}

/** UTF-8 bytes of an error's message in trailers, which contain it twice, and of its details. */
const MAX_MESSAGE = 1_024;
const MAX_DETAILS = 2_048;
/** Bytes of a type URL and of lengths, for each value. */
const BESIDE = 64;

type Detail = ConnectError["details"][number];

/**
 * Limits an error to the size of HTTP/2 trailers: gRPC clients fail with INTERNAL when the trailers
 * of a reply exceed their limit, 8 KiB in grpc-java and 16 KiB in Node. A longer message is cut,
 * and the first violations of `google.rpc.BadRequest` and the other details that fit are kept.
 */
function withinTrailers(error: ConnectError): ConnectError {
  const { rawMessage, code, metadata, cause } = error;
  const isSmall = error.details.reduce((sum, one) => sum + sizeOf(one), 0) <= MAX_DETAILS;
  if (isSmall && Buffer.byteLength(rawMessage) <= MAX_MESSAGE) return error;
  const small = new ConnectError(cut(rawMessage), code, metadata, undefined, cause);
  let left = MAX_DETAILS;
  const others = error.details.filter((detail) => {
    const fits = !isBadRequest(detail) && sizeOf(detail) <= left;
    if (fits) left -= sizeOf(detail);
    return fits;
  });
  left -= BESIDE;
  const [{ fieldViolations } = create(BadRequestSchema)] = error.findDetails(BadRequestSchema);
  const beyond = fieldViolations.findIndex((violation) => {
    left -= toBinary(BadRequest_FieldViolationSchema, violation).length + 4;
    return left < 0;
  });
  const first = beyond < 0 ? fieldViolations : fieldViolations.slice(0, beyond);
  const value = { fieldViolations: first };
  small.details = first.length === 0 ? others : [{ desc: BadRequestSchema, value }, ...others];
  return small;
}

function isBadRequest(detail: Detail): boolean {
  return ("desc" in detail ? detail.desc.typeName : detail.type) === BadRequestSchema.typeName;
}

function sizeOf(detail: Detail): number {
  const { value } =
    "desc" in detail ? anyPack(detail.desc, create(detail.desc, detail.value)) : detail;
  return value.length + BESIDE;
}

/** Cuts a text at a character boundary. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= MAX_MESSAGE) return text;
  const bytes = new Uint8Array(MAX_MESSAGE - 3);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return `${text.slice(0, read)}…`;
}
