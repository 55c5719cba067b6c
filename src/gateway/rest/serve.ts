import { create, type JsonValue, type Message } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { memoize } from "../../memoize.ts";
import { JSON_TYPE } from "../envelope.ts";
import { type Exchange, write } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, HttpFault, quote } from "../failure.ts";
import { entriesOf, HttpCall } from "../http-call.ts";
import type { Method } from "../method.ts";
import { createNegotiator } from "../negotiation.ts";
import type { Gateway } from "../options.ts";
import type { StreamReply } from "../stream.ts";
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
  /** Error of the query or the Content-Type; sent after the admission. */
  problem?: unknown;
}

/** State of the REST dialect: encoders and encoded replies, shared by all exchanges. */
export class RestDialect {
  readonly gateway: Gateway;
  readonly accepted = createNegotiator();
  /** The encoder of a binding's events. */
  readonly eventEncoder = memoize((binding: Binding) =>
    createEventEncoder(binding.reply, this.gateway.prefix, this.gateway.registry),
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

  /** Sends an error in the form of the binding's replies, or as envelope without a binding. */
  fail(
    error: unknown,
    binding: Binding | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const { httpStatus = "envelope", report } = this.gateway;
    const failure = describeFailure(error);
    if (failure.unexpected) report?.(error, request);
    const shape = binding?.reply.shape ?? "envelope";
    const enveloped = shape === "envelope" || shape === "envelope-null";
    // Only an envelope can say by its code what the status doesn't.
    const real = failure.real || !enveloped || httpStatus === "code";
    const body = Buffer.from(shape === "bare" ? failureBody(failure) : failureEnvelope(failure));
    const headers = {
      "content-type": JSON_TYPE,
      "content-length": body.length,
      "cache-control": "no-store",
    };
    write(reply, real ? failure.code : 200, { ...failure.headers, ...headers }, body);
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
    const { peerOf } = dialect.gateway;
    const parts = { request: request.raw, response: reply.raw, id: request.id, peerOf };
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
    if (!call.hasBody) return this.#fill(create(request.desc));
    return call
      .body(bounds, bodyLimit(call.method), (bytes) =>
        bodyMessage(request, bytes, () => readBodyText(bytes, binding, call)),
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
    const set = call.setHeader === undefined ? headers : { ...headers, ...entriesOf(call) };
    if (!bare && typeof body !== "string") this.#dialect.gateway.hold(call.response, body);
    write(this.#reply, status, set, bare ? "" : body);
  }

  stream(): StreamReply | undefined {
    const { call } = this;
    if (call.requestMethod !== "HEAD")
      return eventReply(
        this.#reply,
        call,
        this.#dialect.eventEncoder(this.#choice.binding),
        this.#dialect.gateway,
      );
    write(this.#reply, 200, EVENT_HEADERS, "");
    return undefined;
  }

  fail(error: unknown): void {
    this.#dialect.fail(error, this.#choice.binding, this.#request, this.#reply);
  }
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
