import type { JsonValue, Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { memoize } from "../../memoize.ts";
import { BadRequest } from "../../transport/body.ts";
import { type Framing, readFrames } from "../../transport/body-pieces.ts";
import { type Coding, type Decompress, decompressionFor } from "../coding.ts";
import {
  type Connection,
  type Dialect,
  type Exchange,
  type Found,
  type Http,
  HttpCall,
  limitRestTime,
  type ReplyHeaders,
} from "../exchange.ts";
import {
  describeFailure,
  failureBody,
  failureEnvelope,
  HttpFault,
  ownHeaders,
  quote,
} from "../failure.ts";
import type { Method } from "../method.ts";
import type { Gateway, GatewayOptions } from "../options.ts";
import { JSON_TYPE, type Signalled } from "../serialize.ts";
import type { MethodSettings, RequestForm } from "../settings.ts";
import type { StreamReply } from "../stream.ts";
import { type Binding, createBindings } from "./binding.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { anyBodyMessage } from "./http-body.ts";
import { readRequestJson } from "./json.ts";
import { captureVariables, type PathParts } from "./path.ts";
import { hasParameter, parseQuery, type Query } from "./query.ts";
import { RestReply, type Variant } from "./reply.ts";
import { prepareText } from "./reply-text.ts";
import { bodyMessage, emptyMessage, fillMessage, readForm, takesForm } from "./request.ts";
import { createRouter, type Router, type Url } from "./router.ts";
import {
  encodeEvent,
  eventStream,
  jsonStream,
  rawStream,
  STREAM_TYPES,
  streamFormat,
} from "./stream-reply.ts";

/** One route, for documentation and tests. */
export interface GatewayRoute {
  /** The HTTP method in capitals; `*` for any. */
  readonly httpMethod: string;
  /** The path template of the rule. */
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

/** REST by `google.api.http` rules. @internal */
export class RestDialect implements Dialect {
  readonly #router: Router;
  readonly #replies: RestReplies;

  /** @throws RuleError */
  constructor(gateway: Gateway) {
    const { reading, warn, rules, paths } = gateway;
    const { trailingSlash = false } = reading.tolerance;
    const tolerance = { ...paths, trailingSlash: trailingSlash || paths.trailingSlash === true };
    const bindings = gateway.methods.flatMap((method) => createBindings(method, rules, reading));
    this.#router = createRouter(bindings, { warn, tolerance });
    this.#replies = new RestReplies(gateway);
  }

  urls(maxRoutes: number): readonly Url[] {
    return this.#router.urls(maxRoutes);
  }

  find(path: string, httpMethod: string): Found | undefined {
    const match = this.#router.search(path, httpMethod);
    if (match === undefined) return undefined;
    const { bindings, parts } = match;
    if (bindings === undefined) return this.#refusal(match.allow);
    return new RestRoute(this.#replies, bindings, parts);
  }

  #refusal(allow: readonly string[]): Found {
    return { isCall: false, open: (http) => this.#refuseMethod(http, allow) };
  }

  /** Answers a method that a known path does not support (RFC 9110, sections 9.3.7 and 15.5.6). */
  #refuseMethod(http: Http, methods: readonly string[]): undefined {
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

/** The bindings of a path and method. */
class RestRoute implements Found {
  readonly isCall = true;
  readonly #replies: RestReplies;
  readonly #bindings: readonly Binding[];
  readonly #parts: PathParts | undefined;

  constructor(replies: RestReplies, bindings: readonly Binding[], parts: PathParts | undefined) {
    this.#replies = replies;
    this.#bindings = bindings;
    this.#parts = parts;
  }

  open(http: Http, problem?: unknown): Exchange {
    const choice = choose(this.#bindings, this.#parts, http.query);
    if (problem !== undefined) choice.problem = problem;
    return new RestExchange(this.#replies, choice, http);
  }
}

function choose(bindings: readonly Binding[], parts: Choice["parts"], text: string): Choice {
  let [binding] = bindings;
  if (binding === undefined) throw new HttpFault(404, "nothing is served here");
  try {
    const query = needsQuery(bindings, text) ? parseQuery(text) : [];
    for (const candidate of bindings) {
      if (!isChosen(candidate, query)) continue;
      binding = candidate;
      return { binding, query, parts, problem: undefined };
    }
    const names = [...new Set(bindings.flatMap(({ request }) => request.requireQuery))];
    const kind = names.length === 1 ? "the query parameter" : "one of the query parameters";
    throw new BadRequest("QUERY_INVALID", `give ${kind} ${names.join(", ")}`);
  } catch (problem) {
    return { binding, query: [], parts, problem };
  }
}

function isChosen({ request: { requireQuery } }: Binding, query: Query): boolean {
  return requireQuery.length === 0 || requireQuery.some((name) => hasParameter(query, name));
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

/** Encoded replies of REST that cannot change, shared by all exchanges. */
class RestReplies {
  readonly gateway: Gateway;
  readonly #replies = memoize((binding: Binding) =>
    memoize((message: Message) => this.#encode(binding, message)),
  );
  readonly #events = memoize((binding: Binding) =>
    memoize((message: Message) => this.#encodeEvent(binding, message)),
  );

  constructor(gateway: Gateway) {
    this.gateway = gateway;
  }

  /** The encoded reply; that of a read is cached as long as its message, if that cannot change. */
  reply(binding: Binding, message: Message): RestReply {
    return this.#isKept(binding) ? this.#replies(binding)(message) : this.#encode(binding, message);
  }

  /** The message as an event, cached as a reply. */
  event(binding: Binding, message: Message): Buffer {
    const { isImmutable } = this.gateway.settingsOf(binding.method);
    return isImmutable ? this.#events(binding)(message) : this.#encodeEvent(binding, message);
  }

  #isKept({ method, reply }: Binding): boolean {
    return reply.kept && this.gateway.settingsOf(method).isImmutable;
  }

  #encode(binding: Binding, message: Message): RestReply {
    const { gateway } = this;
    return new RestReply(binding, message, gateway, gateway.settingsOf(binding.method));
  }

  #encodeEvent({ reply, method }: Binding, message: Message): Buffer {
    const { gateway } = this;
    return encodeEvent(reply, message, gateway.prefix, gateway.settingsOf(method));
  }

  /**
   * Sends an error in the form of the binding's replies; without a binding, in that of the options.
   *
   * @param headers set by the rpc.
   */
  fail(error: unknown, binding: Binding | undefined, http: Http, headers: ReplyHeaders = {}): void {
    const { httpStatus = "envelope" } = this.gateway;
    const failure = describeFailure(error);
    if (failure.unexpected) this.gateway.reportMasked(error, http);
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
    const all = {
      "cache-control": "no-store",
      ...failure.headers,
      ...ownHeaders(headers),
      "content-type": JSON_TYPE,
      "content-length": body.length,
    };
    http.respond(real ? status : 200, all, body);
  }
}

/** A REST request and its reply. */
class RestExchange implements Exchange {
  readonly call: HttpCall;
  readonly settings: MethodSettings;
  readonly #replies: RestReplies;
  readonly #choice: Choice;
  /** The encoded reply and its message: an interceptor may encode it before it is sent. */
  #encoded: readonly [Message, RestReply] | undefined;

  constructor(replies: RestReplies, choice: Choice, http: Http) {
    this.#replies = replies;
    this.#choice = choice;
    const { method } = choice.binding;
    this.call = new HttpCall(method.desc, "rest", http, replies.gateway);
    this.settings = replies.gateway.settingsOf(method);
  }

  get method(): Method {
    return this.#choice.binding.method;
  }

  get connection(): Connection {
    return this.call.http;
  }

  read(): Message | Promise<Message> {
    const { call } = this;
    this.#begin();
    if (call.http.hasBody) return this.#readBody();
    return this.#fill(emptyMessage(this.#choice.binding.request, call.header("content-type")));
  }

  async #readBody(): Promise<Message> {
    const { call } = this;
    const limit = this.settings.readMaxBytes;
    const decompress = this.#decompression();
    const reading = call.reading(this.#replies.gateway.bounds, limit);
    const message = await call.http.readBody(reading, async (bytes) =>
      this.#decode(decompress === undefined ? bytes : await decompress(bytes, limit)),
    );
    return this.#fill(message);
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
    if (this.#decompression() !== undefined)
      throw new HttpFault(415, "a stream of messages must not be compressed");
    const reading = call.reading(this.#replies.gateway.bounds, this.settings.readMaxBytes);
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
    limitRestTime(this.call, this.settings.maxTimeoutMs);
  }

  /** The decompressor of the body; that of a google.api.HttpBody is taken as it is. */
  #decompression(): Decompress | undefined {
    if (this.#choice.binding.request.raw) return undefined;
    const { codings } = this.settings;
    const name = this.call.header("content-encoding")?.trim().toLowerCase();
    try {
      return decompressionFor(name, codings, "accept-encoding");
    } catch (error) {
      const { rawMessage, metadata } = error as ConnectError;
      throw new HttpFault(415, rawMessage, Object.fromEntries(metadata));
    }
  }

  async #decode(bytes: Uint8Array): Promise<Message> {
    const { call } = this;
    const { request } = this.#choice.binding;
    if (request.raw) return anyBodyMessage(request, call.header("content-type") ?? "", bytes);
    const form = this.settings.request;
    const read = (): JsonValue => readBodyText(bytes, this.#choice.binding, call, form);
    return bodyMessage(request, bytes, read, form);
  }

  #fill(message: Message): Message {
    const { call } = this;
    const { binding, query, parts } = this.#choice;
    const path = parts ? captureVariables(binding.template, parts) : [];
    const { prefix } = this.#replies.gateway;
    return fillMessage(binding.request, message, { path, query, call }, prefix);
  }

  prepare(message: Message, request: Signalled): Promise<void> | undefined {
    return this.settings.isImmutable
      ? prepareText(this.#choice.binding.reply, message, this.settings, request)
      : undefined;
  }

  encode(message: Message): unknown {
    const { binding } = this.#choice;
    if (binding.method.kind !== "unary") return this.#replies.event(binding, message);
    return this.#encodeReply(message);
  }

  #encodeReply(message: Message): RestReply {
    const { binding } = this.#choice;
    if (!this.settings.isImmutable) return this.#replies.reply(binding, message);
    const [known, reply] = this.#encoded ?? [];
    if (reply !== undefined && known === message) return reply;
    const made = this.#replies.reply(binding, message);
    this.#encoded = [message, made];
    return made;
  }

  /** Sends 304 when the client has the reply already. */
  send(message: Message): void | Promise<void> {
    const { call } = this;
    const reply = this.#encodeReply(message);
    const own = headersSetBy(call);
    const seen = seenTag(call, reply, this.#replies.gateway.seesWhole);
    if (seen !== undefined) {
      call.http.respond(304, combine(reply.unchanged(seen).headers, own), "");
      return undefined;
    }
    const coding = this.#codingOf(reply, own);
    if (coding !== undefined) return this.#sendCompressed(reply, coding, own);
    this.#respond(reply.status, reply.uncompressed(), own);
    return undefined;
  }

  async #sendCompressed(reply: RestReply, coding: Coding, own: ReplyHeaders): Promise<void> {
    this.#respond(reply.status, await reply.compressed(coding), own);
  }

  #respond(status: number, { headers, body }: Variant, own: ReplyHeaders): void {
    const { call } = this;
    const isHead = call.requestMethod === "HEAD";
    call.http.respond(status, combine(headers, own), isHead ? "" : body);
  }

  /** The coding of a reply; none for one that the rpc has encoded itself. */
  #codingOf({ isCompressible }: RestReply, own: ReplyHeaders): Coding | undefined {
    const { codings, accepted } = this.settings;
    const isFixed =
      "content-encoding" in own || /no-transform/i.test(String(own["cache-control"] ?? ""));
    if (!isCompressible || isFixed) return undefined;
    const [name] = accepted(this.call.header("accept-encoding"));
    return codings.find((coding) => coding.name === name);
  }

  stream(): StreamReply | undefined {
    const { call } = this;
    const { binding } = this.#choice;
    const { settings } = this;
    const { gateway } = this.#replies;
    const rule = binding.reply;
    const format = rule.shape === "events" ? "events" : streamFormat(call.header("accept"));
    if (call.requestMethod === "HEAD") {
      const type = rule.raw ? {} : { "content-type": STREAM_TYPES[format] };
      call.http.respond(200, { ...type, "cache-control": "no-store" }, "");
      return undefined;
    }
    const target = { call, rule, gateway, settings };
    if (rule.raw) return rawStream(target);
    if (format !== "events") return jsonStream(format, target);
    // Clients connect again: an open stream does not delay a shutdown.
    gateway.eventStreams.add(call);
    return eventStream((message) => this.#replies.event(binding, message), target);
  }

  fail(error: unknown): void {
    const { call } = this;
    const headers = headersSetBy(call);
    const ofError = error instanceof ConnectError ? call.errorHeaders(error) : {};
    this.#replies.fail(error, this.#choice.binding, call.http, combine(headers, ofError));
  }
}

const NOTHING: ReplyHeaders = Object.freeze({});

/** Headers of a whole reply that an rpc has set, its trailers included; most set none. */
function headersSetBy(call: HttpCall): ReplyHeaders {
  if (call.setHeader === undefined && call.setTrailer === undefined) return NOTHING;
  return { ...call.replyHeaders(), ...call.replyTrailers() };
}

/** Headers with others, which take precedence; `Vary` of both is combined. */
function combine(headers: ReplyHeaders, others: ReplyHeaders): ReplyHeaders {
  if (others === NOTHING) return headers;
  const { vary } = headers;
  if (vary === undefined || others["vary"] === undefined) return { ...headers, ...others };
  return { ...headers, ...others, vary: `${vary}, ${others["vary"]}` };
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
  bytes: Uint8Array,
  { request, method }: Binding,
  call: HttpCall,
  form: RequestForm,
): JsonValue {
  const type = call.header("content-type") ?? "";
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (essence === FORM && takesForm(request)) {
    // The type that curl sends by default.
    if (/^\s*[[{"]/.test(Buffer.from(bytes.subarray(0, 64)).toString()))
      throw new HttpFault(
        415,
        `the body is not a form: send it with Content-Type application/json`,
      );
    return readForm(bytes, request.desc);
  }
  const isStream = method.kind === "client_streaming";
  if (essence === "" || JSON_TYPES.test(essence) || (isStream && LINES.has(essence)))
    return readRequestJson(bytes, form);
  throw new HttpFault(415, `the body must be application/json, not ${quote(essence)}`);
}

const FORM = "application/x-www-form-urlencoded";
/** JSON, and formats that are based on it (RFC 6839, section 3.1). */
const JSON_TYPES = /^application\/(?:[^\s/]+\+)?json$/;
const LINES: ReadonlySet<string> = new Set(["application/x-ndjson", "application/jsonl"]);

function seenTag(
  call: HttpCall,
  reply: RestReply,
  seesWhole: (call: HttpCall) => boolean,
): string | undefined {
  const header = call.header("if-none-match");
  if (header === undefined || reply.opaqueTag === undefined) return undefined;
  if (call.requestMethod !== "GET" && call.requestMethod !== "HEAD") return undefined;
  // The caller may send a tag of another caller's part, or of the whole.
  if (!reply.isPart && !seesWhole(call)) return undefined;
  return header === reply.tag ? header : matchNoneMatch(header, reply.opaqueTag);
}
