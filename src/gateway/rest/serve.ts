import { create, type JsonValue, type Message } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { carryOut } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, HttpFault, quote } from "../failure.ts";
import type { HttpCall } from "../http-call.ts";
import { createKeep } from "../memoize.ts";
import { createNegotiator } from "../negotiation.ts";
import type { Gateway } from "../options.ts";
import type { Binding } from "./binding.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { createEventEncoder, EVENT_HEADERS, eventReply } from "./event.ts";
import { readJson } from "./json.ts";
import { captureVariables, type PathParts } from "./path.ts";
import type { Query } from "./query.ts";
import { createReply, type RestReply } from "./reply.ts";
import { bodyMessage, fillMessage, readForm, takesForm } from "./request.ts";

/** The binding that a request is for. */
export interface Choice {
  readonly binding: Binding;
  readonly query: Query;
  /** What is wrong with the query; said when the caller may know it. */
  readonly problem?: unknown;
}

/** A request on its way: what the first hook has found out. */
export interface Exchange extends Choice {
  readonly call: HttpCall;
  /** The path's segments, where the template may have variables. */
  readonly parts: PathParts | undefined;
}

/** Carries a request to its rpc and the reply back. Never rejects. */
export function createServing(gateway: Gateway) {
  const send = createSending(gateway);
  const encode = createEncoding(gateway);
  const { bounds, bodyLimit, prefix, sendStream, turnedAway } = gateway;
  const encoders = createKeep<Binding, ReturnType<typeof createEventEncoder>>();
  const messageOf = (exchange: Exchange): Message | Promise<Message> => {
    const { call, binding, query, parts, problem } = exchange;
    if (problem !== undefined) throw problem;
    const { request } = binding;
    const path = parts ? captureVariables(binding.template, parts) : [];
    const fill = (message: Message): Message =>
      fillMessage(request, message, { path, query, call }, prefix);
    if (!call.hasBody) return fill(create(request.desc));
    return call
      .body(bounds, bodyLimit(call.method), (bytes) =>
        bodyMessage(request, bytes, () => readBodyText(bytes, binding, call)),
      )
      .then(fill);
  };
  const answer = (exchange: Exchange, reply: FastifyReply, request: Message): Promise<void> => {
    const { call, binding } = exchange;
    const { method } = binding;
    if (method.kind === "unary") {
      call.encode = (message) => encode(binding, message);
      return method
        .invoke(request, call)
        .then(({ message }) => send(exchange, reply, encode(binding, message)));
    }
    // HEAD gets the headers and starts nothing.
    if (call.requestMethod === "HEAD") {
      reply.headers(EVENT_HEADERS).send("");
      return Promise.resolve();
    }
    const make = () => createEventEncoder(binding.reply, prefix, gateway.registry);
    const encodeEvent = encoders(binding, make);
    call.encode = encodeEvent;
    return sendStream(eventReply(reply, call, encodeEvent, gateway), method.invoke(request, call));
  };
  const steps = { read: messageOf, answer, turnedAway };
  return (exchange: Exchange, reply: FastifyReply): Promise<void> =>
    carryOut(exchange, reply, steps);
}

/** A body as JSON, or as a form where the message has nothing but scalars. */
function readBodyText(bytes: Buffer, { request }: Binding, call: HttpCall): JsonValue {
  const type = call.header("content-type") ?? "";
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const coding = (call.header("content-encoding") ?? "identity").trim().toLowerCase();
  if (coding !== "identity" && coding !== "") {
    const message = `the body must not be compressed (Content-Encoding ${quote(coding)})`;
    throw new HttpFault(415, message, { "accept-encoding": "identity" });
  }
  if (essence === "application/x-www-form-urlencoded" && takesForm(request))
    return readForm(bytes, request.desc);
  if (essence === "" || essence === "application/json") return readJson(bytes);
  throw new HttpFault(415, `the body must be application/json, not ${quote(essence)}`);
}

/** Encodes response messages as their binding says, each once. */
function createEncoding(gateway: Gateway) {
  const kept = createKeep<Binding, ReturnType<typeof createKeep<Message, RestReply>>>();
  return (binding: Binding, message: Message): RestReply =>
    kept(binding, () => createKeep())(message, () => createReply(binding, message, gateway));
}

/** Sends an encoded reply, or 304 when the client has it already. */
function createSending(gateway: Gateway) {
  const accepted = createNegotiator();
  return ({ call }: Exchange, reply: FastifyReply, encoded: RestReply): void => {
    const codings = accepted(call.header("accept-encoding"));
    const vary = reply.getHeader("vary");
    const seen = seenTag(call, encoded);
    const { headers, body } =
      seen === undefined ? encoded.variant(codings) : encoded.unchanged(seen);
    reply.headers(headers);
    // A hook may have named a header that replies depend on.
    if (typeof vary === "string")
      reply.header("vary", headers["vary"] === undefined ? vary : `${headers["vary"]}, ${vary}`);
    for (const [name, value] of call.setHeader ?? []) reply.header(name, value);
    if (seen !== undefined) reply.code(304).send();
    else if (call.requestMethod === "HEAD") reply.code(200).send("");
    else {
      if (typeof body !== "string") gateway.hold(reply.raw, body);
      reply.code(200).send(body);
    }
  };
}

function seenTag(call: HttpCall, reply: RestReply): string | undefined {
  const header = call.header("if-none-match");
  if (header === undefined || reply.state === undefined) return undefined;
  if (call.requestMethod !== "GET" && call.requestMethod !== "HEAD") return undefined;
  // Callers with fewer rights are shown less of the same revision: only a tag of that part is theirs.
  if (call.grant !== undefined && !call.grant.isRoot && !reply.isPart) return undefined;
  return header === reply.tag ? header : matchNoneMatch(header, reply.state);
}

/** Sends an error in the form of the binding's replies, or as envelope where no binding was found. */
export function createFailing({ httpStatus = "envelope", report }: Gateway) {
  return (
    error: unknown,
    exchange: Exchange | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void => {
    // What a hook of the application throws is the application's to answer.
    if (exchange === undefined && !(error instanceof HttpFault)) throw error;
    const failure = describeFailure(error);
    if (failure.unexpected) report?.(error, request);
    const shape = exchange?.binding.reply.shape ?? "envelope";
    const enveloped = shape === "envelope" || shape === "envelope-null";
    // Only an envelope can say by its code what the status doesn't.
    const real = failure.real || !enveloped || httpStatus === "code";
    reply
      .code(real ? failure.code : 200)
      .headers({ ...failure.headers, "cache-control": "no-store" })
      .type("application/json; charset=utf-8")
      .send(shape === "bare" ? failureBody(failure) : failureEnvelope(failure));
  };
}
