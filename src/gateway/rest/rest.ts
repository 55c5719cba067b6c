import type { JsonValue, Message } from "@bufbuild/protobuf";
import { memoize } from "../../memoize.ts";
import { BadRequest } from "../../transport/body.ts";
import { type Framing, readFrames } from "../../transport/body-pieces.ts";
import { createNegotiator } from "../encoded.ts";
import { type Exchange, type Http, HttpCall, limitRestTime } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, HttpFault, quote } from "../failure.ts";
import type { Method } from "../method.ts";
import type { Gateway, GatewayOptions } from "../options.ts";
import { JSON_TYPE } from "../serialize.ts";
import type { StreamReply } from "../stream.ts";
import { type Binding, createBindings } from "./binding.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { anyBodyMessage } from "./http-body.ts";
import { readJson } from "./json.ts";
import { captureVariables, type PathParts } from "./path.ts";
import { hasParameter, parseQuery, type Query } from "./query.ts";
import {
  createEventEncoder,
  eventStream,
  jsonStream,
  RestReply,
  rawStream,
  STREAM_TYPES,
  streamFormat,
} from "./reply.ts";
import { bodyMessage, emptyMessage, fillMessage, readForm, takesForm } from "./request.ts";
import { bindingsFor, createRouter, type Match, type Router, type Url } from "./router.ts";

/** One route, for documentation and tests. */
export interface GatewayRoute {
  readonly httpMethod: string;
  readonly path: string;
  /** The rpc's full name. */
  readonly rpc: string;
}

/**
 * The REST routes of rpcs.
 *
 * @throws RuleError
 */
export function listRoutes({
  methods,
  rules,
}: Pick<GatewayOptions, "methods" | "rules">): GatewayRoute[] {
  return methods
    .flatMap((method) => createBindings(method, rules))
    .map(({ httpMethod, template, rpc }) => ({ httpMethod, path: template.source, rpc }));
}

/** Properties of a request from the server, besides its HTTP parts. */
interface Known {
  /** The bindings of the path, if the server has found it itself. */
  readonly exact?: Url["exact"];
  /** Error of the framework; sent after the admission. */
  readonly problem?: unknown;
}

/** REST by `google.api.http` rules. @internal */
export class RestDialect {
  /** Paths to register, in the notation of Fastify's router. */
  readonly urls: readonly Url[];
  readonly #router: Router;
  readonly #replies: RestReplies;

  /** @throws RuleError */
  constructor(gateway: Gateway) {
    const { reading, warn, rules } = gateway;
    const { trailingSlash } = reading.tolerance;
    const bindings = gateway.methods.flatMap((method) => createBindings(method, rules, reading));
    this.#router = createRouter(bindings, { warn, trailingSlash });
    this.#replies = new RestReplies(gateway);
    this.urls = this.#router.urls;
  }

  /** Finds the rpc of a request; `answered`: the path does not support its method. */
  open(http: Http, { exact, problem }: Known = {}): Exchange | "answered" | "unknown" {
    const match = this.#find(http, exact);
    if (match === undefined) return "unknown";
    if (match.bindings === undefined) {
      this.#refuseMethod(http, match.allow);
      return "answered";
    }
    const choice = choose(match.bindings, match.parts, http.query);
    if (problem !== undefined) choice.problem = problem;
    return new RestExchange(this.#replies, choice, http);
  }

  #find(http: Http, exact: Url["exact"]): Match | undefined {
    const found = exact && bindingsFor(exact, http.method);
    if (found !== undefined) return { bindings: found, parts: undefined, allow: [] };
    return this.#router.search(http.path, http.method);
  }

  /** Answers a method that a known path does not support (RFC 9110, sections 9.3.7 and 15.5.6). */
  #refuseMethod(http: Http, methods: readonly string[]): void {
    const allow = methods.join(", ");
    if (http.method === "OPTIONS") http.respond(204, { allow }, "");
    else this.refuse(http, new HttpFault(405, `use ${allow} here`, { allow }));
  }

  /** Answers a path without a rule. */
  refusePath(http: Http): void {
    this.refuse(http, new HttpFault(404, "nothing is served here"));
  }

  /** Answers a request that has no rule yet. */
  refuse(http: Http, fault: HttpFault): void {
    this.#replies.gateway.explained(fault, http);
    this.#replies.fail(fault, undefined, http);
  }
}

function choose(bindings: readonly Binding[], parts: Choice["parts"], text: string): Choice {
  let [binding] = bindings;
  if (binding === undefined) throw new HttpFault(404, "nothing is served here");
  try {
    const query = needsQuery(bindings, text) ? parseQuery(text) : [];
    const chosen = bindings.find(({ request: { requireQuery } }) => {
      return requireQuery.length === 0 || requireQuery.some((name) => hasParameter(query, name));
    });
    if (chosen !== undefined) {
      binding = chosen;
      return { binding, query, parts, problem: undefined };
    }
    const names = [...new Set(bindings.flatMap(({ request }) => request.requireQuery))];
    const kind = names.length === 1 ? "the query parameter" : "one of the query parameters";
    throw new BadRequest("QUERY_INVALID", `give ${kind} ${names.join(", ")}`);
  } catch (problem) {
    return { binding, query: [], parts, problem };
  }
}

function needsQuery(bindings: readonly Binding[], text: string): boolean {
  if (text === "") return false;
  return bindings.length > 1 || bindings.some(({ request }) => takesQuery(request));
}

function takesQuery({ query, requireQuery }: Binding["request"]): boolean {
  return query !== undefined || requireQuery.length > 0;
}

/** The binding of a request. */
interface Choice {
  readonly binding: Binding;
  readonly query: Query;
  /** Error of the query or the Content-Type; sent after the admission. */
  problem: unknown;
  /** The path's segments, if the template may have variables. */
  readonly parts: PathParts | undefined;
}

/** Encoders and encoded replies of REST, shared by all exchanges. */
class RestReplies {
  readonly gateway: Gateway;
  readonly accepted = createNegotiator();
  /** The encoder of a binding's events. */
  readonly eventEncoder = memoize((binding: Binding) =>
    createEventEncoder(binding.reply, this.gateway.prefix, this.gateway),
  );
  readonly #replies = memoize((binding: Binding) =>
    memoize((message: Message) => new RestReply(binding, message, this.gateway)),
  );

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  /** The encoded reply; that of a read is the same as long as its message is the same. */
  encode(binding: Binding, message: Message): RestReply {
    if (!binding.reply.kept) return new RestReply(binding, message, this.gateway);
    return this.#replies(binding)(message);
  }

  /** Sends an error in the form of the binding's replies; without a binding, in that of the options. */
  fail(error: unknown, binding: Binding | undefined, http: Http): void {
    const { httpStatus = "envelope", report } = this.gateway;
    const failure = describeFailure(error);
    if (failure.unexpected) report?.(error, http);
    const { errors = "status", registry } = this.gateway;
    const own = binding?.reply.shape ?? "envelope";
    const unsaid = binding === undefined || own === "events";
    const shape = unsaid && errors === "status" ? "bare" : own;
    const enveloped = shape === "envelope" || shape === "envelope-null";
    // Clients read the code in an envelope, so that the HTTP status may be 200.
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
    http.respond(real ? status : 200, { ...failure.headers, ...headers }, body);
  }
}

/** A REST request and its reply. */
class RestExchange implements Exchange {
  readonly call: HttpCall;
  readonly #replies: RestReplies;
  readonly #choice: Choice;
  /** The encoded reply and its message: an interceptor may encode it before it is sent. */
  #encoded: readonly [Message, RestReply] | undefined;

  constructor(replies: RestReplies, choice: Choice, http: Http) {
    this.#replies = replies;
    this.#choice = choice;
    this.call = new HttpCall(choice.binding.method.desc, "rest", http, replies.gateway);
  }

  get method(): Method {
    return this.#choice.binding.method;
  }

  read(): Message | Promise<Message> {
    const { call } = this;
    this.#begin();
    const { bounds, bodyLimit } = this.#replies.gateway;
    if (!call.http.hasBody)
      return this.#fill(emptyMessage(this.#choice.binding.request, call.header("content-type")));
    const reading = call.reading(bounds, bodyLimit(call.method));
    return call.http
      .readBody(reading, (bytes) => this.#decode(bytes))
      .then((message) => this.#fill(message));
  }

  /**
   * Each line of a body of JSON lines, or each piece of a body that is a google.api.HttpBody, is a
   * message; path and query set fields of all of them.
   */
  messages(): AsyncIterable<Message> {
    this.#begin();
    return this.#readMessages();
  }

  async *#readMessages(): AsyncIterable<Message> {
    const { call } = this;
    const { bounds, bodyLimit } = this.#replies.gateway;
    const reading = call.reading(bounds, bodyLimit(call.method));
    const pieces = call.http.readPieces(reading);
    const isRaw = this.#choice.binding.request.raw;
    const limit = reading.limit + LINE_END;
    for await (const bytes of isRaw ? pieces : readFrames(pieces, { cut: lineCut(), limit })) {
      if (isRaw || !bytes.every(isSpace)) yield this.#fill(await this.#decode(bytes));
      if (isRaw) pieces.release(bytes.length);
    }
  }

  /** The steps before the first byte of the body. */
  #begin(): void {
    const { problem } = this.#choice;
    if (problem !== undefined) throw problem;
    limitRestTime(this.call);
  }

  #decode(bytes: Buffer): Message | Promise<Message> {
    const { call } = this;
    const { gateway } = this.#replies;
    const { request } = this.#choice.binding;
    if (request.raw) return anyBodyMessage(request, call.header("content-type") ?? "", bytes);
    const read = (): JsonValue => readBodyText(bytes, this.#choice.binding, call, gateway);
    return bodyMessage(request, bytes, read, gateway);
  }

  #fill(message: Message): Message {
    const { call } = this;
    const { binding, query, parts } = this.#choice;
    const path = parts ? captureVariables(binding.template, parts) : [];
    const { prefix } = this.#replies.gateway;
    return fillMessage(binding.request, message, { path, query, call }, prefix);
  }

  encode(message: Message): unknown {
    const { binding } = this.#choice;
    return binding.method.kind === "unary"
      ? this.#encodeReply(message)
      : this.#replies.eventEncoder(binding)(message);
  }

  #encodeReply(message: Message): RestReply {
    const [known, reply] = this.#encoded ?? [];
    if (reply !== undefined && known === message) return reply;
    const made = this.#replies.encode(this.#choice.binding, message);
    this.#encoded = [message, made];
    return made;
  }

  /** Sends 304 when the client has the reply already. */
  send(message: Message): void {
    const { call } = this;
    const encoded = this.#encodeReply(message);
    const seen = seenTag(call, encoded, this.#replies.gateway.seesWhole);
    const codings = this.#replies.accepted(call.header("accept-encoding"));
    const { headers, body } =
      seen === undefined ? encoded.variant(codings) : encoded.unchanged(seen);
    const status = seen === undefined ? encoded.status : 304;
    const bare = status === 304 || call.requestMethod === "HEAD";
    const nothingSet = call.setHeader === undefined && call.setTrailer === undefined;
    const set = nothingSet
      ? headers
      : { ...headers, ...call.replyHeaders(), ...call.replyTrailers() };
    call.http.respond(status, set, bare ? "" : body);
  }

  stream(): StreamReply | undefined {
    const { call } = this;
    const { binding } = this.#choice;
    const { gateway } = this.#replies;
    const rule = binding.reply;
    const format = rule.shape === "events" ? "events" : streamFormat(call.header("accept"));
    if (call.requestMethod === "HEAD") {
      const type = rule.raw ? {} : { "content-type": STREAM_TYPES[format] };
      call.http.respond(200, { ...type, "cache-control": "no-store" }, "");
      return undefined;
    }
    const target = { call, rule, gateway };
    if (rule.raw) return rawStream(target);
    if (format !== "events") return jsonStream(format, target);
    return eventStream(this.#replies.eventEncoder(binding), target);
  }

  fail(error: unknown): void {
    this.#replies.fail(error, this.#choice.binding, this.call.http);
  }
}

const NEWLINE = 0x0a;
/** Bytes of the longest line ending. */
const LINE_END = 2;

/** Cuts after the first line that is not blank: blank lines count as part of the next message. */
function lineCut(): Framing["cut"] {
  let isBlank = true;
  return (bytes, seen) => {
    let at = seen;
    while (isBlank && at < bytes.length) isBlank = isSpace(bytes[at++]);
    const end = isBlank ? -1 : bytes.indexOf(NEWLINE, at);
    if (end < 0) return undefined;
    isBlank = true;
    return end + 1;
  };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === NEWLINE;
}

/** A body as JSON, or as a form if the message has scalar fields only. */
function readBodyText(
  bytes: Buffer,
  binding: Binding,
  call: HttpCall,
  { reading, messageLimits }: Gateway,
): JsonValue {
  const { request, method } = binding;
  const type = call.header("content-type") ?? "";
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  const coding = (call.header("content-encoding") ?? "identity").trim().toLowerCase();
  if (coding !== "identity" && coding !== "") {
    const message = `the body must not be compressed (Content-Encoding ${quote(coding)})`;
    throw new HttpFault(415, message, { "accept-encoding": "identity" });
  }
  if (essence === "application/x-www-form-urlencoded" && takesForm(request))
    return readForm(bytes, request.desc);
  const isStream = method.kind === "client_streaming";
  if (essence === "" || essence === "application/json" || (isStream && LINES.has(essence)))
    return readJson(bytes, {
      digits: reading.largeIntegers === "take",
      limits: messageLimits(method.desc),
    });
  throw new HttpFault(415, `the body must be application/json, not ${quote(essence)}`);
}

const LINES: ReadonlySet<string> = new Set(["application/x-ndjson", "application/jsonl"]);

function seenTag(
  call: HttpCall,
  reply: RestReply,
  seesWhole: (call: HttpCall) => boolean,
): string | undefined {
  const header = call.header("if-none-match");
  if (header === undefined || reply.state === undefined) return undefined;
  if (call.requestMethod !== "GET" && call.requestMethod !== "HEAD") return undefined;
  // The caller may send a tag of another caller's part, or of the whole.
  if (!reply.isPart && !seesWhole(call)) return undefined;
  return header === reply.tag ? header : matchNoneMatch(header, reply.state);
}
