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
import { BadRequest, bodyTooLarge } from "../transport/body.ts";
import { decodeBinary } from "../transport/decode.ts";
import { type Coding, decompressionFor } from "./coding.ts";
import { type Encoded, encode, encodeOnce, type Format, prepareOnce } from "./encoded.ts";
import {
  type Connection,
  type Dialect,
  type Exchange,
  type Found,
  type Http,
  HttpCall,
  type ReplyHeaders,
} from "./exchange.ts";
import { ownHeaders, tooLargeReply, wellFormed } from "./failure.ts";
import { frame, PREFIX_LENGTH, unwrap, unwrapEach, wrap } from "./length-prefix.ts";
import { isRead, type Method } from "./method.ts";
import type { Gateway } from "./options.ts";
import { readRequestJson } from "./rest/json.ts";
import { messageFromJson } from "./rest/json-message.ts";
import type { Url } from "./rest/router.ts";
import type { Signalled } from "./serialize.ts";
import type { MethodSettings, RequestForm } from "./settings.ts";
import type { StreamReply } from "./stream.ts";

/**
 * Connect and gRPC-Web: a POST to `/package.Service/Method`, or a GET for a read of Connect. Error
 * JSON, the end of a stream, trailers and time limits have the forms of the library.
 */
export class ConnectDialect implements Dialect {
  readonly #methods: ReadonlyMap<string, ConnectMethod>;

  constructor(gateway: Gateway) {
    const methods = gateway.methods.filter((method) => {
      const { servesConnect, servesGrpcWeb } = gateway.settingsOf(method);
      return servesConnect || servesGrpcWeb;
    });
    this.#methods = new Map(
      methods.map((method) => [pathOf(method), new ConnectMethod(gateway, method)]),
    );
  }

  urls(maxRoutes: number): readonly Url[] {
    if (this.#methods.size <= maxRoutes)
      return [...this.#methods].map(([url, { httpMethods }]) => ({
        url,
        methods: new Set(httpMethods),
        isWild: false,
      }));
    const services = new Set([...this.#methods.keys()].map((path) => path.replace(/[^/]+$/, "*")));
    return [...services].map((url) => ({
      url,
      methods: new Set(["GET", "POST"]),
      isWild: true,
    }));
  }

  find(path: string, httpMethod: string): Found | undefined {
    const method = this.#methods.get(path);
    return method?.httpMethods.includes(httpMethod) === false ? method.refusal : method;
  }
}

/** A method over Connect and gRPC-Web. */
class ConnectMethod implements Found {
  readonly isCall = true;
  /** GET for a read of Connect. */
  readonly httpMethods: readonly string[];
  /** Answer to the other methods. */
  readonly refusal: Found;
  readonly #gateway: Gateway;
  readonly #method: Method;

  constructor(gateway: Gateway, method: Method) {
    const { servesConnect } = gateway.settingsOf(method);
    const mayGet = servesConnect && method.kind === "unary" && isRead(method.desc);
    this.httpMethods = mayGet ? ["GET", "POST"] : ["POST"];
    this.#gateway = gateway;
    this.#method = method;
    const headers = { allow: this.httpMethods.join(", "), "content-length": 0 };
    this.refusal = { isCall: false, open: (http) => answer(http, 405, headers) };
  }

  open(http: Http, problem?: unknown): Exchange | undefined {
    const method = this.#method;
    const settings = this.#gateway.settingsOf(method);
    // Connect protocol: a client that believes to be full-duplex would wait for ever.
    if (method.kind === "bidi_streaming" && http.isHttp1)
      return answer(http, 505, { connection: "close", "content-length": 0 });
    const isGet = http.method === "GET";
    const form = (isGet ? openGet : openPost)(this.#gateway, method, http);
    const isServed =
      form?.call.transport === "grpc-web" ? settings.servesGrpcWeb : settings.servesConnect;
    if (form === undefined || !isServed)
      return answer(http, 415, { "accept-post": typesOf(method, settings), "content-length": 0 });
    return new ConnectExchange(this.#gateway, { ...form, method, settings, problem });
  }
}

/** Answers a request that opens no exchange. */
function answer(http: Http, status: number, headers: ReplyHeaders): undefined {
  http.respond(status, headers, "");
}

function pathOf({ desc }: Method): string {
  return `/${desc.parent.typeName}/${desc.name}`;
}

function streamsRequests(kind: Method["kind"]): boolean {
  return kind === "client_streaming" || kind === "bidi_streaming";
}

function typesOf({ kind }: Method, { servesConnect, servesGrpcWeb }: MethodSettings): string {
  const own = kind === "unary" ? ["json", "proto"] : ["connect+json", "connect+proto"];
  const web = streamsRequests(kind) ? [] : ["grpc-web+proto", "grpc-web+json"];
  return [...(servesConnect ? own : []), ...(servesGrpcWeb ? web : [])]
    .map((name) => `application/${name}`)
    .join(", ");
}

function openPost(gateway: Gateway, method: Method, http: Http): Form | undefined {
  const type = http.header("content-type") ?? null;
  const web = parseWebType(type);
  if (web !== undefined) {
    // Clients of gRPC-Web do not stream requests.
    if (web.text || streamsRequests(method.kind)) return undefined;
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
  readonly settings: MethodSettings;
  /** Error of the framework; sent after the admission. */
  readonly problem: unknown;
}

/** A request of Connect or gRPC-Web and its reply. */
class ConnectExchange implements Exchange {
  readonly call: HttpCall;
  readonly method: Method;
  readonly settings: MethodSettings;
  readonly #gateway: Gateway;
  readonly #form: ConnectParts;

  constructor(gateway: Gateway, form: ConnectParts) {
    this.call = form.call;
    this.method = form.method;
    this.settings = form.settings;
    this.#gateway = gateway;
    this.#form = form;
  }

  get connection(): Connection {
    return this.call.http;
  }

  async read(): Promise<Message> {
    const { call, framed, inUrl } = this.#form;
    const { limit, decode, decompress, reading } = this.#begin();
    if (inUrl) return decode(await bytesInUrl(this.#form, limit));
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
    const { call, format, framed, inUrl, problem } = this.#form;
    if (problem !== undefined) throw problem;
    const { readMaxBytes: limit, codings, maxTimeoutMs, request } = this.settings;
    if (this.settings.requireConnectProtocolHeader) requireVersion(this.#form);
    limitTime(call, maxTimeoutMs);
    const names = namesOf(this.#form);
    const coding = inUrl ? undefined : call.header(names.encoding);
    const decompress = decompressionFor(coding, codings, names.accept);
    const reading = call.reading(this.#gateway.bounds, framed ? limit + PREFIX_LENGTH : limit);
    const decode = (bytes: Uint8Array) => decodeMessage(this.method.desc, format, bytes, request);
    return { limit, decode, decompress, reading };
  }

  send(message: Message): Promise<void> {
    return this.#form.framed
      ? this.#gateway.sendStream(this.stream(), only(message))
      : this.#sendUnary(message);
  }

  async #sendUnary(message: Message): Promise<void> {
    const { call, format, inUrl } = this.#form;
    const encoded = this.encode(message);
    const coding = this.#codingOf(encoded, call.header("accept-encoding"));
    const body = coding === undefined ? encoded.bytes : await encoded.compress(coding);
    const headers = {
      "content-type": `application/${format}`,
      ...(coding !== undefined && body !== encoded.bytes
        ? { "content-encoding": coding.name }
        : {}),
      // A GET may be cached, and the client's headers choose the coding of the reply.
      ...(inUrl ? { vary: "Accept-Encoding, Accept-Language" } : {}),
    };
    sendUnary(this.#form, 200, headers, body);
  }

  stream(): StreamReply {
    const header = this.call.header(namesOf(this.#form).accept);
    return framedReply(this.#form, {
      coding: firstCoding(this.settings, header),
      encode: (message) => this.encode(message),
      errorOf: (thrown) => toConnectError(thrown, this.#gateway, this.call.http),
    });
  }

  prepare(message: Message, request: Signalled): Promise<void> | undefined {
    const { reply, isImmutable } = this.settings;
    if (!isImmutable) return undefined;
    return prepareOnce(this.method.desc.output, message, this.#form.format, reply, request);
  }

  /** An interceptor may encode a reply before it is sent: it is cached if it cannot change. */
  encode(message: Message): Encoded {
    const { output } = this.method.desc;
    const { reply, isImmutable, writeMaxBytes } = this.settings;
    const encoded = (isImmutable ? encodeOnce : encode)(output, message, this.#form.format, reply);
    const { length } = encoded.bytes;
    if (length > writeMaxBytes) throw tooLargeReply(length, writeMaxBytes);
    return encoded;
  }

  /** The coding of a whole reply; undefined: none. */
  #codingOf({ bytes }: Encoded, header: string | undefined): Coding | undefined {
    const isLong = bytes.length >= this.settings.compressMinBytes;
    return isLong ? firstCoding(this.settings, header) : undefined;
  }

  fail(error: unknown): void {
    sendFailure(this.#form, toConnectError(error, this.#gateway, this.call.http));
  }
}

/** The coding of replies that a client prefers. */
function firstCoding(
  { codings, accepted }: MethodSettings,
  header: string | undefined,
): Coding | undefined {
  const [name] = accepted(header);
  return codings.find((coding) => coding.name === name);
}

function decodeMessage(
  desc: DescMethod,
  format: Format,
  bytes: Uint8Array,
  form: RequestForm,
): Message | Promise<Message> {
  const { limits, binaryDepth, readUnknownFields } = form;
  if (format === "proto")
    return decodeBinary(desc.input, bytes, limits, { depth: binaryDepth, readUnknownFields });
  return messageFromJson(desc.input, readRequestJson(bytes, form), form);
}

async function bytesInUrl({ call, settings }: ConnectParts, limit: number): Promise<Uint8Array> {
  const parameters = new URLSearchParams(call.http.query);
  const text = parameters.get("message") ?? "";
  const name = parameters.get("compression") ?? undefined;
  const decompress = decompressionFor(name, settings.codings, "accept-encoding");
  const bytes = parameters.get("base64") === "1" ? base64(text) : Buffer.from(text);
  const plain = decompress === undefined ? bytes : await decompress(bytes, limit);
  if (plain.length > limit) throw bodyTooLarge(limit);
  return plain;
}

/** Connect protocol, "Connect-Protocol-Version" and the parameter `connect` of a GET. */
function requireVersion({ call, inUrl }: Form): void {
  if (call.transport !== "connect") return;
  const [name, sent, version] = inUrl
    ? ["the parameter connect", new URLSearchParams(call.http.query).get("connect"), "v1"]
    : ["the header Connect-Protocol-Version", call.header("connect-protocol-version"), "1"];
  if (sent === version) return;
  const reason = inUrl ? "QUERY_INVALID" : "HEADER_INVALID";
  throw new BadRequest(reason, `${name} must be "${version}"`);
}

function base64(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch {
    throw new BadRequest("QUERY_INVALID", "the message is not base64");
  }
}

function limitTime(call: HttpCall, maxTimeoutMs: number): void {
  const web = call.transport === "grpc-web";
  const header = call.header(web ? "grpc-timeout" : "connect-timeout-ms") ?? null;
  if (header === null) return;
  const { timeoutMs, error } = (web ? parseGrpcTimeout : parseConnectTimeout)(header, maxTimeoutMs);
  if (error !== undefined) throw new BadRequest("HEADER_INVALID", error.rawMessage, error.code);
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function toConnectError(error: unknown, gateway: Gateway, http: Http): ConnectError {
  if (error instanceof ConnectError) return error;
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode >= 400 && statusCode < 500)
    return new ConnectError("the request can't be read", Code.InvalidArgument);
  gateway.reportMasked(error, http);
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
function framedReply(form: ConnectParts, { coding, encode, errorOf }: Framing): StreamReply {
  const { call, settings } = form;
  const { http } = call;
  return {
    sink: http.sink,
    isOpen: () => http.isBegun || http.isGone,
    open: () =>
      http.begin({
        ...call.replyHeaders(),
        "content-type": contentType(form),
        ...(coding === undefined ? {} : { [namesOf(form).encoding]: coding.name }),
      }),
    encode: (message) =>
      frame(encode(message), {
        coding,
        minBytes: settings.compressMinBytes,
        isKept: settings.isImmutable,
      }),
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

function endFrame({ call, settings }: ConnectParts, error: ConnectError | undefined): Buffer {
  const trailer = new Headers(call.setTrailer);
  const failure = error && wellFormed(error);
  if (call.transport === "grpc-web") {
    const text = trailerSerialize(setTrailerStatus(trailer, failure));
    return wrap(Buffer.from(text), trailerFlag);
  }
  const json = endStreamToJson(trailer, failure, settings.reply.json);
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
function sendFailure(form: ConnectParts, error: ConnectError): void {
  if (form.framed) {
    const headers = { ...form.call.replyHeaders(), "content-type": contentType(form) };
    form.call.http.respond(200, headers, endFrame(form, error));
    return;
  }
  const headers = {
    ...ownHeaders(form.call.errorHeaders(error)),
    "content-type": "application/json",
  };
  const body = Buffer.from(errorToJsonBytes(wellFormed(error), form.settings.reply.json));
  sendUnary(form, codeToHttpStatus(error.code), headers, body);
}
