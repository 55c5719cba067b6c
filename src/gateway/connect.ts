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
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { decodeBinary } from "../transport/decode.ts";
import { leaveOnceAnswered } from "../transport/request.ts";
import { type Exchange, framedReply, namesOf, sendFailure } from "./connect-reply.ts";
import { type Encoded, encodeOnce, type Format } from "./encoded.ts";
import { carryOut, createExchanges, type Exchanges } from "./exchange.ts";
import { HttpCall } from "./http-call.ts";
import { decompressionFor, PREFIX_LENGTH, unwrap } from "./length-prefix.ts";
import { isRead, type Method } from "./method.ts";
import { createNegotiator } from "./negotiation.ts";
import type { Gateway } from "./options.ts";
import { readJson } from "./rest/json.ts";
import { messageFromJson } from "./rest/json-message.ts";

/** Codings of requests and replies, as both protocols have them here. */
const CODINGS = ["gzip", "br"];
/** Longest time limit that a client may ask for, in milliseconds. */
const MAX_TIME = 24 * 60 * 60 * 1_000;

/**
 * Serves Connect and gRPC-Web: a POST to `/package.Service/Method`, or a GET for a read of Connect.
 * The flow is REST's; the words of the protocols (error JSON, end of a stream, trailers, time limits)
 * are the library's.
 */
export function registerConnect(fastify: FastifyInstance, gateway: Gateway): void {
  const exchanges = createExchanges<Exchange>(fastify);
  for (const method of gateway.methods) registerMethod(fastify, gateway, method, exchanges);
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

function registerMethod(
  fastify: FastifyInstance,
  gateway: Gateway,
  method: Method,
  exchanges: Exchanges<Exchange>,
): void {
  const { desc } = method;
  const mayGet = method.kind === "unary" && isRead(desc);
  const serve = createServing(gateway, method);
  fastify.route({
    method: METHODS,
    url: `/${desc.parent.typeName}/${desc.name}`,
    exposeHeadRoute: false,
    // As for REST: after every hook for requests, before a byte of the body is read.
    preParsing: (request, reply, _payload, done) => {
      leaveOnceAnswered(request.raw, reply.raw);
      const isGet = mayGet && request.method === "GET";
      if (request.method !== "POST" && !isGet) {
        const allow = mayGet ? "GET, POST" : "POST";
        return void reply.code(405).header("allow", allow).send("");
      }
      const exchange = (isGet ? openGet : openPost)(gateway, method, request, reply);
      if (exchange === undefined) {
        return void reply.code(415).header("accept-post", typesOf(method)).send("");
      }
      exchanges.set(request, exchange);
      gateway.enter(exchange.call, done);
    },
    errorHandler: (error, request, reply) => {
      const exchange = exchanges.get(request);
      // What a hook of the application throws is the application's to answer.
      if (exchange === undefined) throw error;
      sendFailure(exchange, reply, toConnectError(error, gateway, request));
    },
    handler: (request, reply) => {
      const exchange = exchanges.get(request);
      if (exchange) void serve(exchange, reply);
    },
  });
}

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
): Exchange | undefined {
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
): Exchange | undefined {
  const format = parametersOf(request.raw).get("encoding");
  if (format !== "json" && format !== "proto") return undefined;
  const parts = { request: request.raw, response: reply.raw, id: request.id, peerOf };
  return { call: new HttpCall(method.desc, "connect", parts), format, framed: false, inUrl: true };
}

function parametersOf({ url = "" }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}

function createServing(gateway: Gateway, method: Method) {
  const { bounds, bodyLimit, sendStream, turnedAway } = gateway;
  const limit = bodyLimit(method.desc);
  const accepted = createNegotiator();
  const messageOf = async (exchange: Exchange): Promise<Message> => {
    const { call, format, framed, inUrl } = exchange;
    limitTime(call);
    const decode = (bytes: Uint8Array) => decodeMessage(method.desc.input, format, bytes);
    if (inUrl) return decode(await bytesInUrl(parametersOf(call.request), limit));
    const names = namesOf(exchange);
    const decompress = decompressionFor(call.header(names.encoding), CODINGS, names.accept);
    return call.body(bounds, framed ? limit + PREFIX_LENGTH : limit, async (body) => {
      if (framed) return decode(await unwrap(body, limit, decompress));
      return decode(decompress === undefined ? body : await decompress(body, limit));
    });
  };
  const sendUnary = async (exchange: Exchange, reply: FastifyReply, encoded: Encoded) => {
    const { call, format } = exchange;
    const [coding] = encoded.compressible ? accepted(call.header("accept-encoding")) : [];
    const body = coding === undefined ? encoded.bytes : await encoded.compress(coding);
    for (const [name, value] of call.setHeader ?? []) reply.header(name, value);
    for (const [name, value] of call.setTrailer ?? []) reply.header(`trailer-${name}`, value);
    if (coding !== undefined && body !== encoded.bytes) reply.header("content-encoding", coding);
    // A GET may be kept by caches, and replies are encoded and written as the client likes.
    if (exchange.inUrl) reply.header("vary", "Accept-Encoding, Accept-Language");
    gateway.hold(reply.raw, body);
    reply
      .code(200)
      .headers({ "content-type": `application/${format}`, "content-length": body.length })
      .send(body);
  };
  const answer = async (exchange: Exchange, reply: FastifyReply, request: Message) => {
    const { call, format, framed } = exchange;
    const encode = (one: Message): Encoded =>
      encodeOnce(method.desc.output, one, format, gateway.registry);
    call.encode = encode;
    const answers =
      method.kind === "unary" ? await method.invoke(request, call) : method.invoke(request, call);
    if ("message" in answers && !framed) return sendUnary(exchange, reply, encode(answers.message));
    const messages = "message" in answers ? only(answers.message) : answers;
    const [coding] = accepted(call.header(namesOf(exchange).accept));
    const errorOf = (thrown: unknown) => toConnectError(thrown, gateway, reply.request);
    await sendStream(framedReply(exchange, reply, { coding, encode, errorOf }), messages);
  };
  const steps = { read: messageOf, answer, turnedAway };
  return (exchange: Exchange, reply: FastifyReply): Promise<void> =>
    carryOut(exchange, reply, steps);
}

function decodeMessage(
  desc: DescMessage,
  format: Format,
  bytes: Uint8Array,
): Message | Promise<Message> {
  if (format === "proto") return decodeBinary(desc, bytes);
  return messageFromJson(desc, readJson(bytes));
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
