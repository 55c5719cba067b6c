import type { DescMethod, Message } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
  parseTimeout as parseConnectTimeout,
  parseContentType as parseConnectType,
} from "@connectrpc/connect/protocol-connect";
import {
  parseTimeout as parseGrpcTimeout,
  parseContentType as parseWebType,
  setTrailerStatus,
  trailerFlag,
  trailerSerialize,
} from "@connectrpc/connect/protocol-grpc-web";
import { BadRequest } from "../transport/body.ts";
import { decodeBinary } from "../transport/decode.ts";
import { type Coding, createNegotiator, type Encoded, encodeOnce, type Format } from "./encoded.ts";
import { type Exchange, type Http, HttpCall, MAX_TIME, type ReplyHeaders } from "./exchange.ts";
import { wellFormed } from "./failure.ts";
import {
  COMPRESSED,
  decompressionFor,
  PREFIX_LENGTH,
  unwrap,
  unwrapEach,
  wrap,
} from "./length-prefix.ts";
import { isRead, type Method } from "./method.ts";
import type { Gateway } from "./options.ts";
import { readJson } from "./rest/json.ts";
import { messageFromJson } from "./rest/json-message.ts";
import { JSON_OPTIONS } from "./serialize.ts";
import type { StreamReply } from "./stream.ts";

/** Codings of requests and replies, supported for both protocols. */
const CODINGS = ["gzip", "br"];

/** A path in Fastify's notation, and its only method. */
interface ConnectUrl {
  readonly url: string;
  readonly method: Method | undefined;
}

/** Maximum number of methods with their own paths; above it, a service has one path. */
const MAX_URLS = 512;

/**
 * Connect and gRPC-Web: a POST to `/package.Service/Method`, or a GET for a read of Connect. Error
 * JSON, the end of a stream, trailers and time limits have the forms of the library.
 */
export class ConnectDialect {
  readonly urls: readonly ConnectUrl[];
  readonly #gateway: Gateway;
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #accepted = createNegotiator();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    const { methods } = gateway;
    const entries = methods.map((method) => ({ url: pathOf(method), method }));
    this.#methods = new Map(entries.map(({ url, method }) => [url, method]));
    const services = new Set(methods.map(({ desc }) => `/${desc.parent.typeName}/*`));
    this.urls =
      methods.length > MAX_URLS
        ? [...services].map((url) => ({ url, method: undefined }))
        : entries;
  }

  /** @param known the method of the path, if it is known. */
  open(
    http: Http,
    { known, problem }: { readonly known?: Method | undefined; readonly problem?: unknown } = {},
  ): Exchange | "answered" | "unknown" {
    const method = known ?? this.#methods.get(http.path);
    if (method === undefined) return "unknown";
    const mayGet = method.kind === "unary" && isRead(method.desc);
    const isGet = mayGet && http.method === "GET";
    if (http.method !== "POST" && !isGet) {
      http.respond(405, { allow: mayGet ? "GET, POST" : "POST", "content-length": 0 }, "");
      return "answered";
    }
    const form = (isGet ? openGet : openPost)(this.#gateway, method, http);
    if (form === undefined) {
      http.respond(415, { "accept-post": typesOf(method), "content-length": 0 }, "");
      return "answered";
    }
    return new ConnectExchange(this.#gateway, {
      ...form,
      method,
      accepted: this.#accepted,
      problem,
    });
  }
}

function pathOf({ desc }: Method): string {
  return `/${desc.parent.typeName}/${desc.name}`;
}

function typesOf({ kind }: Method): string {
  const own = kind === "unary" ? ["json", "proto"] : ["connect+json", "connect+proto"];
  const web = kind === "client_streaming" ? [] : ["grpc-web+proto", "grpc-web+json"];
  return [...own, ...web].map((name) => `application/${name}`).join(", ");
}

function openPost(gateway: Gateway, method: Method, http: Http): Form | undefined {
  const type = http.header("content-type") ?? null;
  const web = parseWebType(type);
  if (web !== undefined) {
    // Clients of gRPC-Web do not stream requests.
    if (web.text || method.kind === "client_streaming") return undefined;
    const call = new HttpCall(method.desc, "grpc-web", http, gateway);
    return { call, format: web.binary ? "proto" : "json", framed: true, inUrl: false };
  }
  const connect = parseConnectType(type);
  if (connect === undefined || connect.stream !== (method.kind !== "unary")) return undefined;
  const call = new HttpCall(method.desc, "connect", http, gateway);
  const format = connect.binary ? "proto" : "json";
  return { call, format, framed: connect.stream, inUrl: false };
}

/** Connect protocol, "Unary-Get-Request". */
function openGet(gateway: Gateway, method: Method, http: Http): Form | undefined {
  const format = new URLSearchParams(http.query).get("encoding");
  if (format !== "json" && format !== "proto") return undefined;
  const call = new HttpCall(method.desc, "connect", http, gateway);
  return { call, format, framed: false, inUrl: true };
}

interface ConnectParts extends Form {
  readonly method: Method;
  readonly accepted: ReturnType<typeof createNegotiator>;
  /** Error of the framework; sent after the admission. */
  readonly problem: unknown;
}

/** A request of Connect or gRPC-Web and its reply. */
class ConnectExchange implements Exchange {
  readonly call: HttpCall;
  readonly method: Method;
  readonly #gateway: Gateway;
  readonly #form: ConnectParts;

  constructor(gateway: Gateway, form: ConnectParts) {
    this.call = form.call;
    this.method = form.method;
    this.#gateway = gateway;
    this.#form = form;
  }

  async read(): Promise<Message> {
    const { call, framed, inUrl } = this.#form;
    const { limit, decode, decompress, reading } = this.#begin();
    if (inUrl) return decode(await bytesInUrl(new URLSearchParams(call.http.query), limit));
    return call.http.readBody(reading, async (body) => {
      if (framed) return decode(await unwrap(body, limit, decompress));
      return decode(decompress === undefined ? body : await decompress(body, limit));
    });
  }

  messages(): AsyncIterable<Message> {
    const { limit, decode, decompress, reading } = this.#begin();
    const pieces = this.call.http.readPieces(reading);
    return mapEach(unwrapEach(pieces, limit, decompress), decode);
  }

  /** The steps before the first byte of the body. */
  #begin() {
    const { call, format, framed, problem } = this.#form;
    if (problem !== undefined) throw problem;
    const { bounds, bodyLimit } = this.#gateway;
    const limit = bodyLimit(this.method.desc);
    limitTime(call);
    const names = namesOf(this.#form);
    const decompress = decompressionFor(call.header(names.encoding), CODINGS, names.accept);
    const reading = call.reading(bounds, framed ? limit + PREFIX_LENGTH : limit);
    const decode = (bytes: Uint8Array) =>
      decodeMessage(this.method.desc, format, bytes, this.#gateway);
    return { limit, decode, decompress, reading };
  }

  send(message: Message): Promise<void> {
    return this.#form.framed
      ? this.#gateway.sendStream(this.stream(), only(message))
      : this.#sendUnary(message);
  }

  async #sendUnary(message: Message): Promise<void> {
    const { call, format, inUrl, accepted } = this.#form;
    const encoded = this.encode(message);
    const [coding] = encoded.compressible ? accepted(call.header("accept-encoding")) : [];
    const body = coding === undefined ? encoded.bytes : await encoded.compress(coding);
    const headers = {
      "content-type": `application/${format}`,
      ...(coding !== undefined && body !== encoded.bytes ? { "content-encoding": coding } : {}),
      // A GET may be cached, and the client's headers choose the coding of the reply.
      ...(inUrl ? { vary: "Accept-Encoding, Accept-Language" } : {}),
    };
    sendUnary(this.#form, 200, headers, body);
  }

  stream(): StreamReply {
    const [coding] = this.#form.accepted(this.call.header(namesOf(this.#form).accept));
    return framedReply(this.#form, {
      coding,
      encode: (message) => this.encode(message),
      errorOf: (thrown) => toConnectError(thrown, this.#gateway, this.call.http),
    });
  }

  encode(message: Message): Encoded {
    const { registry, memberNames } = this.#gateway;
    const { desc } = this.method;
    const isOnce = desc.methodKind === "unary" && !isRead(desc);
    return encodeOnce(desc.output, message, this.#form.format, registry, memberNames, isOnce);
  }

  fail(error: unknown): void {
    sendFailure(this.#form, toConnectError(error, this.#gateway, this.call.http));
  }
}

function decodeMessage(
  desc: DescMethod,
  format: Format,
  bytes: Uint8Array,
  gateway: Gateway,
): Message | Promise<Message> {
  const limits = gateway.messageLimits(desc);
  if (format === "proto") return decodeBinary(desc.input, bytes, limits);
  const digits = gateway.reading.largeIntegers === "take";
  return messageFromJson(desc.input, readJson(bytes, { digits, limits }), gateway);
}

async function bytesInUrl(parameters: URLSearchParams, limit: number): Promise<Uint8Array> {
  const text = parameters.get("message") ?? "";
  const name = parameters.get("compression") ?? undefined;
  const decompress = decompressionFor(name, CODINGS, "accept-encoding");
  const bytes = parameters.get("base64") === "1" ? base64(text) : Buffer.from(text);
  return decompress === undefined ? bytes : decompress(bytes, limit);
}

function base64(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch {
    throw new BadRequest("QUERY_INVALID", "the message is not base64");
  }
}

function limitTime(call: HttpCall): void {
  const web = call.transport === "grpc-web";
  const header = call.header(web ? "grpc-timeout" : "connect-timeout-ms") ?? null;
  if (header === null) return;
  const { timeoutMs, error } = (web ? parseGrpcTimeout : parseConnectTimeout)(header, MAX_TIME);
  if (error !== undefined) throw new BadRequest("HEADER_INVALID", error.rawMessage, error.code);
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function toConnectError(
  error: unknown,
  { report }: Gateway,
  request: { readonly id: string },
): ConnectError {
  if (error instanceof ConnectError) return error;
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode >= 400 && statusCode < 500)
    return new ConnectError("the request can't be read", Code.InvalidArgument);
  report?.(error, request);
  return new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}

async function* mapEach<T, U>(
  values: AsyncIterable<T>,
  map: (value: T) => U | Promise<U>,
): AsyncIterable<U> {
  for await (const value of values) yield await map(value);
}

async function* only(message: Message): AsyncIterable<Message> {
  yield message;
}

/** Form of a request of Connect or gRPC-Web, and of its reply. */
interface Form {
  readonly call: HttpCall;
  readonly format: Format;
  /** Messages have a length prefix: streams of Connect, and all calls of gRPC-Web. */
  readonly framed: boolean;
  /** The request message is in the URL. */
  readonly inUrl: boolean;
}

/** The headers that name compressions. */
function namesOf({ call, framed }: Form): { encoding: string; accept: string } {
  const prefix = call.transport === "grpc-web" ? "grpc-" : framed ? "connect-" : "";
  return framed
    ? {
        encoding: `${prefix}${call.transport === "grpc-web" ? "" : "content-"}encoding`,
        accept: `${prefix}accept-encoding`,
      }
    : { encoding: "content-encoding", accept: "accept-encoding" };
}

/** Framing of a reply. */
interface Framing {
  /** Compression of messages; undefined: none. */
  readonly coding: Coding | undefined;
  readonly encode: (message: Message) => Encoded;
  /** Error that a client sees at the end of the stream. */
  readonly errorOf: (thrown: unknown) => ConnectError;
}

/** Messages in envelopes, with the end of the stream in the last one. */
function framedReply(form: Form, { coding, encode, errorOf }: Framing): StreamReply {
  const { call } = form;
  const { http } = call;
  return {
    sink: http.sink,
    isOpen: () => http.isBegun || http.isGone,
    open: () =>
      http.begin({
        ...call.replyHeaders(),
        "content-type": contentType(form),
        ...(coding === undefined ? {} : { [namesOf(form).encoding]: coding }),
      }),
    encode: (message) => {
      const encoded = encode(message);
      if (coding === undefined || !encoded.compressible) return wrap(encoded.bytes);
      const body = encoded.compress(coding);
      const framed = (bytes: Buffer): Buffer =>
        wrap(bytes, bytes === encoded.bytes ? 0 : COMPRESSED);
      return Buffer.isBuffer(body) ? framed(body) : body.then(framed);
    },
    end: (thrown) => {
      const error = thrown === undefined ? undefined : errorOf(thrown);
      http.end(endFrame(form, error));
    },
  };
}

function contentType({ call, format, framed }: Form): string {
  const kind = call.transport === "grpc-web" ? "grpc-web+" : framed ? "connect+" : "";
  return `application/${kind}${format}`;
}

function endFrame({ call }: Form, error: ConnectError | undefined): Buffer {
  const trailer = new Headers(call.setTrailer);
  if (call.transport === "grpc-web") {
    const text = trailerSerialize(setTrailerStatus(trailer, error && wellFormed(error)));
    return wrap(Buffer.from(text), trailerFlag);
  }
  const json = endStreamToJson(trailer, error, JSON_OPTIONS);
  return wrap(Buffer.from(JSON.stringify(json)), endStreamFlag);
}

/** Sends a whole reply to a unary call of Connect; trailers are headers with a prefix. */
function sendUnary({ call }: Form, status: number, headers: ReplyHeaders, body: Buffer): void {
  call.http.respond(
    status,
    {
      ...call.replyHeaders(),
      ...call.replyTrailers(),
      ...headers,
      "content-length": body.length,
    },
    body,
  );
}

/** Sends an error as the whole reply. */
function sendFailure(form: Form, error: ConnectError): void {
  if (form.framed) {
    const headers = { ...form.call.replyHeaders(), "content-type": contentType(form) };
    form.call.http.respond(200, headers, endFrame(form, error));
    return;
  }
  const headers = { ...Object.fromEntries(error.metadata), "content-type": "application/json" };
  const body = Buffer.from(errorToJsonBytes(error, JSON_OPTIONS));
  sendUnary(form, codeToHttpStatus(error.code), headers, body);
}
