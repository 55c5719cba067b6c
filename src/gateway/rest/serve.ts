import type { JsonValue, Message } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { memoize } from "../../memoize.ts";
import { limitRestTime } from "../deadline.ts";
import { JSON_TYPE } from "../envelope.ts";
import { type Exchange, write } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, HttpFault, quote } from "../failure.ts";
import { entriesOf, HttpCall, trailersOf } from "../http-call.ts";
import type { Method } from "../method.ts";
import { createNegotiator } from "../negotiation.ts";
import type { Gateway } from "../options.ts";
import type { StreamReply } from "../stream.ts";
import type { Binding } from "./binding.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { createEventEncoder, EVENT_HEADERS, eventReply } from "./event.ts";
import { anyBodyMessage, takesAnyBody } from "./http-body.ts";
import { readJson } from "./json.ts";
import { captureVariables, type PathParts } from "./path.ts";
import type { Query } from "./query.ts";
import { createReply, type RestReply } from "./reply.ts";
import { bodyMessage, emptyMessage, fillMessage, readForm, takesForm } from "./request.ts";
import { jsonStream, rawStream, streamFormat } from "./stream-reply.ts";

/** The binding that a request is for. */
export interface Choice {
  readonly binding: Binding;
  readonly query: Query;
  /** Error of the query or the Content-Type; sent after the admission. */
  problem?: unknown;
}

/** State of the REST dialect: encoders and encoded replies, shared by all exchanges. */
export class RestDialect {
  readonly gateway: Gateway;
  readonly accepted = createNegotiator();
  /** The encoder of a binding's events. */
  readonly eventEncoder = memoize((binding: Binding) =>
    createEventEncoder(binding.reply, this.gateway.prefix, this.gateway),
  );
  readonly #replies = memoize((binding: Binding) =>
    memoize((message: Message) => createReply(binding, message, this.gateway)),
  );

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  /** The encoded reply; the same as long as its message is the same. */
  encode(binding: Binding, message: Message): RestReply {
    return this.#replies(binding)(message);
  }

  /** Answers a method that a known path does not take (RFC 9110, sections 9.3.7 and 15.5.6). */
  refuseMethod(request: FastifyRequest, reply: FastifyReply, methods: readonly string[]): void {
    const allow = methods.join(", ");
    if (request.method === "OPTIONS") write(reply, 204, { allow }, "");
    else this.fail(new HttpFault(405, `use ${allow} here`, { allow }), undefined, request, reply);
  }

  /** Answers a path that no rule knows, or leaves that to the application. */
  refusePath(request: FastifyRequest, reply: FastifyReply): void {
    if (this.gateway.errors === "envelope") reply.callNotFound();
    else this.fail(new HttpFault(404, "nothing is served here"), undefined, request, reply);
  }

  /** Sends an error in the form of the binding's replies; without a binding, in that of the options. */
  fail(
    error: unknown,
    binding: Binding | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const { httpStatus = "envelope", report } = this.gateway;
    const failure = describeFailure(error);
    if (failure.unexpected) report?.(error, request);
    const { errors = "status", registry } = this.gateway;
    const own = binding?.reply.shape ?? "envelope";
    const unsaid = binding === undefined || own === "events";
    const shape = unsaid && errors === "status" ? "bare" : own;
    const enveloped = shape === "envelope" || shape === "envelope-null";
    // Only an envelope can say by its code what the status doesn't.
    const real = failure.real || !enveloped || httpStatus === "code";
    const bare = shape === "bare";
    const text = bare ? failureBody(failure, registry) : failureEnvelope(failure);
    const body = Buffer.from(text);
    const status = bare && !failure.real ? failure.httpStatus : failure.code;
    const headers = {
      "content-type": JSON_TYPE,
      "content-length": body.length,
      "cache-control": "no-store",
    };
    write(reply, real ? status : 200, { ...failure.headers, ...headers }, body);
  }
}

/** A REST request and its reply. */
export class RestExchange implements Exchange {
  readonly call: HttpCall;
  readonly #dialect: RestDialect;
  readonly #choice: Choice & { readonly parts: PathParts | undefined };
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  /** @param choice with the path's segments, where the template may have variables. */
  constructor(
    dialect: RestDialect,
    choice: Choice & { readonly parts: PathParts | undefined },
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.#dialect = dialect;
    this.#choice = choice;
    this.#request = request;
    this.#reply = reply;
    const { peerOf, requestHeader, responseHeader } = dialect.gateway;
    const parts = {
      ...{ request: request.raw, response: reply.raw, id: request.id, peerOf },
      ...{ requestHeader, responseHeader },
    };
    this.call = new HttpCall(choice.binding.method.desc, "rest", parts);
  }

  get method(): Method {
    return this.#choice.binding.method;
  }

  read(): Message | Promise<Message> {
    const { call } = this;
    const { bounds, bodyLimit } = this.#dialect.gateway;
    const { binding, problem } = this.#choice;
    if (problem !== undefined) throw problem;
    const { request } = binding;
    limitRestTime(call);
    const { gateway } = this.#dialect;
    if (!call.hasBody) return this.#fill(emptyMessage(request));
    return call
      .body(bounds, bodyLimit(call.method), (bytes) =>
        takesAnyBody(request)
          ? anyBodyMessage(request, call.header("content-type") ?? "", bytes)
          : bodyMessage(request, bytes, () => readBodyText(bytes, binding, call, gateway), gateway),
      )
      .then((message) => this.#fill(message));
  }

  #fill(message: Message): Message {
    const { call } = this;
    const { binding, query, parts } = this.#choice;
    const path = parts ? captureVariables(binding.template, parts) : [];
    const { prefix } = this.#dialect.gateway;
    return fillMessage(binding.request, message, { path, query, call }, prefix);
  }

  encode(message: Message): unknown {
    const { binding } = this.#choice;
    return binding.method.kind === "unary"
      ? this.#dialect.encode(binding, message)
      : this.#dialect.eventEncoder(binding)(message);
  }

  /** Sends 304 when the client has the reply already. */
  send(message: Message): void {
    const { call } = this;
    const encoded = this.#dialect.encode(this.#choice.binding, message);
    const seen = seenTag(call, encoded, this.#dialect.gateway.seesWhole);
    const codings = this.#dialect.accepted(call.header("accept-encoding"));
    const { headers, body } =
      seen === undefined ? encoded.variant(codings) : encoded.unchanged(seen);
    const status = seen === undefined ? 200 : 304;
    const bare = status === 304 || call.requestMethod === "HEAD";
    const nothingSet = call.setHeader === undefined && call.setTrailer === undefined;
    const set = nothingSet ? headers : { ...headers, ...entriesOf(call), ...trailersOf(call) };
    if (!bare && typeof body !== "string") this.#dialect.gateway.hold(call.response, body);
    write(this.#reply, status, set, bare ? "" : body);
  }

  stream(): StreamReply | undefined {
    const { call } = this;
    const { binding } = this.#choice;
    const { gateway } = this.#dialect;
    const rule = binding.reply;
    const format = rule.shape === "events" ? "events" : streamFormat(call.header("accept"));
    if (call.requestMethod === "HEAD") {
      write(this.#reply, 200, format === "events" ? EVENT_HEADERS : NOT_KEPT, "");
      return undefined;
    }
    const target = { reply: this.#reply, call, rule, gateway };
    if (rule.raw) return rawStream(target);
    if (format !== "events") return jsonStream(format, target);
    return eventReply(this.#reply, call, this.#dialect.eventEncoder(binding), gateway);
  }

  fail(error: unknown): void {
    this.#dialect.fail(error, this.#choice.binding, this.#request, this.#reply);
  }
}

const NOT_KEPT = { "cache-control": "no-store" };

/** A body as JSON, or as a form where the message has nothing but scalars. */
function readBodyText(
  bytes: Buffer,
  { request }: Binding,
  call: HttpCall,
  { reading }: Gateway,
): JsonValue {
  const type = call.header("content-type") ?? "";
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const coding = (call.header("content-encoding") ?? "identity").trim().toLowerCase();
  if (coding !== "identity" && coding !== "") {
    const message = `the body must not be compressed (Content-Encoding ${quote(coding)})`;
    throw new HttpFault(415, message, { "accept-encoding": "identity" });
  }
  if (essence === "application/x-www-form-urlencoded" && takesForm(request))
    return readForm(bytes, request.desc);
  if (essence === "" || essence === "application/json")
    return readJson(bytes, reading.largeIntegers === "take");
  throw new HttpFault(415, `the body must be application/json, not ${quote(essence)}`);
}

function seenTag(
  call: HttpCall,
  reply: RestReply,
  seesWhole: (call: HttpCall) => boolean,
): string | undefined {
  const header = call.header("if-none-match");
  if (header === undefined || reply.state === undefined) return undefined;
  if (call.requestMethod !== "GET" && call.requestMethod !== "HEAD") return undefined;
  // A caller that sees a part of the state may hold another part's tag.
  if (!reply.isPart && !seesWhole(call)) return undefined;
  return header === reply.tag ? header : matchNoneMatch(header, reply.state);
}
