import type { IncomingMessage } from "node:http";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  parseTimeout as parseConnectTimeout,
  parseContentType as parseConnectType,
} from "@connectrpc/connect/protocol-connect";
import {
  parseTimeout as parseGrpcTimeout,
  parseContentType as parseWebType,
} from "@connectrpc/connect/protocol-grpc-web";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { decodeBinary } from "../transport/decode.ts";
import { type Form, framedReply, namesOf, sendFailure, sendUnary } from "./connect-reply.ts";
import { type Encoded, encodeOnce, type Format } from "./encoded.ts";
import { type Exchange, mount, write } from "./exchange.ts";
import { HttpCall } from "./http-call.ts";
import { decompressionFor, PREFIX_LENGTH, unwrap } from "./length-prefix.ts";
import { isRead, type Method } from "./method.ts";
import { createNegotiator } from "./negotiation.ts";
import type { Gateway } from "./options.ts";
import { readJson } from "./rest/json.ts";
import type { JsonRules } from "./rest/json-fit.ts";
import { messageFromJson } from "./rest/json-message.ts";
import type { StreamReply } from "./stream.ts";

/** Codings of requests and replies, as both protocols have them here. */
const CODINGS = ["gzip", "br"];
/** Longest time limit that a client may ask for, in milliseconds. */
const MAX_TIME = 24 * 60 * 60 * 1_000;

/**
 * Serves Connect and gRPC-Web: a POST to `/package.Service/Method`, or a GET for a read of Connect.
 * The flow is REST's; the forms of the protocols (error JSON, end of a stream, trailers, time limits)
 * are the library's.
 */
export function registerConnect(fastify: FastifyInstance, gateway: Gateway): void {
  const accepted = createNegotiator();
  for (const method of gateway.methods) {
    const { desc } = method;
    const mayGet = method.kind === "unary" && isRead(desc);
    const route = { method: METHODS, url: `/${desc.parent.typeName}/${desc.name}` };
    mount(fastify, gateway, route, (request, reply, problem) => {
      const isGet = mayGet && request.method === "GET";
      if (request.method !== "POST" && !isGet) {
        write(reply, 405, { allow: mayGet ? "GET, POST" : "POST", "content-length": 0 }, "");
        return undefined;
      }
      const form = (isGet ? openGet : openPost)(gateway, method, request, reply);
      if (form === undefined) {
        write(reply, 415, { "accept-post": typesOf(method), "content-length": 0 }, "");
        return undefined;
      }
      return new ConnectExchange(gateway, { ...form, method, accepted, problem }, request, reply);
    });
  }
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

function typesOf({ kind }: Method): string {
  const own = kind === "unary" ? ["json", "proto"] : ["connect+json", "connect+proto"];
  return [...own, "grpc-web+proto", "grpc-web+json"]
    .map((name) => `application/${name}`)
    .join(", ");
}

function openPost(
  { peerOf }: Gateway,
  method: Method,
  request: FastifyRequest,
  reply: FastifyReply,
): Form | undefined {
  const type = request.headers["content-type"] ?? null;
  const parts = { request: request.raw, response: reply.raw, id: request.id, peerOf };
  const web = parseWebType(type);
  if (web !== undefined) {
    if (web.text) return undefined;
    const call = new HttpCall(method.desc, "grpc-web", parts);
    return { call, format: web.binary ? "proto" : "json", framed: true, inUrl: false };
  }
  const connect = parseConnectType(type);
  if (connect === undefined || connect.stream !== (method.kind !== "unary")) return undefined;
  const call = new HttpCall(method.desc, "connect", parts);
  const format = connect.binary ? "proto" : "json";
  return { call, format, framed: connect.stream, inUrl: false };
}

/** Connect protocol, "Unary-Get-Request". */
function openGet(
  { peerOf }: Gateway,
  method: Method,
  request: FastifyRequest,
  reply: FastifyReply,
): Form | undefined {
  const format = parametersOf(request.raw).get("encoding");
  if (format !== "json" && format !== "proto") return undefined;
  const parts = { request: request.raw, response: reply.raw, id: request.id, peerOf };
  return { call: new HttpCall(method.desc, "connect", parts), format, framed: false, inUrl: true };
}

function parametersOf({ url = "" }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}

interface ConnectParts extends Form {
  readonly method: Method;
  readonly accepted: ReturnType<typeof createNegotiator>;
  /** Error of the framework; sent after the admission. */
  readonly problem: FastifyError | undefined;
}

/** A request of Connect or gRPC-Web and its reply. */
class ConnectExchange implements Exchange {
  readonly call: HttpCall;
  readonly method: Method;
  readonly #gateway: Gateway;
  readonly #form: ConnectParts;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(gateway: Gateway, form: ConnectParts, request: FastifyRequest, reply: FastifyReply) {
    this.call = form.call;
    this.method = form.method;
    this.#gateway = gateway;
    this.#form = form;
    this.#request = request;
    this.#reply = reply;
  }

  async read(): Promise<Message> {
    const { call, format, framed, inUrl, problem } = this.#form;
    if (problem !== undefined) throw problem;
    const { bounds, bodyLimit } = this.#gateway;
    const limit = bodyLimit(this.method.desc);
    limitTime(call);
    const decode = (bytes: Uint8Array) =>
      decodeMessage(this.method.desc.input, format, bytes, this.#gateway);
    if (inUrl) return decode(await bytesInUrl(parametersOf(call.request), limit));
    const names = namesOf(this.#form);
    const decompress = decompressionFor(call.header(names.encoding), CODINGS, names.accept);
    return call.body(bounds, framed ? limit + PREFIX_LENGTH : limit, async (body) => {
      if (framed) return decode(await unwrap(body, limit, decompress));
      return decode(decompress === undefined ? body : await decompress(body, limit));
    });
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
      // A GET may be kept by caches, and replies are encoded and written as the client likes.
      ...(inUrl ? { vary: "Accept-Encoding, Accept-Language" } : {}),
    };
    this.#gateway.hold(call.response, body);
    sendUnary(this.#form, this.#reply, 200, headers, body);
  }

  stream(): StreamReply {
    const [coding] = this.#form.accepted(this.call.header(namesOf(this.#form).accept));
    return framedReply(this.#form, this.#reply, {
      coding,
      encode: (message) => this.encode(message),
      errorOf: (thrown) => toConnectError(thrown, this.#gateway, this.#request),
    });
  }

  encode(message: Message): Encoded {
    const { registry, memberNames } = this.#gateway;
    const { desc } = this.method;
    const isOnce = desc.methodKind === "unary" && !isRead(desc);
    return encodeOnce(desc.output, message, this.#form.format, registry, memberNames, isOnce);
  }

  fail(error: unknown): void {
    const known = toConnectError(error, this.#gateway, this.#request);
    sendFailure(this.#form, this.#reply, known);
  }
}

function decodeMessage(
  desc: DescMessage,
  format: Format,
  bytes: Uint8Array,
  rules: JsonRules,
): Message | Promise<Message> {
  if (format === "proto") return decodeBinary(desc, bytes);
  return messageFromJson(desc, readJson(bytes, rules.reading.largeIntegers === "take"), rules);
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
    throw new ConnectError("the message is no base64", Code.InvalidArgument);
  }
}

function limitTime(call: HttpCall): void {
  const web = call.door === "grpc-web";
  const header = call.header(web ? "grpc-timeout" : "connect-timeout-ms") ?? null;
  if (header === null) return;
  const { timeoutMs, error } = (web ? parseGrpcTimeout : parseConnectTimeout)(header, MAX_TIME);
  if (error !== undefined) throw error;
  if (timeoutMs !== undefined) call.limitTime(timeoutMs);
}

function toConnectError(
  error: unknown,
  { report }: Gateway,
  request: FastifyRequest,
): ConnectError {
  if (error instanceof ConnectError) return error;
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode >= 400 && statusCode < 500)
    return new ConnectError("the request can't be read", Code.InvalidArgument);
  report?.(error, request);
  return new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}

async function* only(message: Message): AsyncIterable<Message> {
  yield message;
}
