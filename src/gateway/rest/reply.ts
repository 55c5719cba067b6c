import { create, isFieldSet, type Message } from "@bufbuild/protobuf";
import { memoize } from "../../memoize.ts";
import type { Coding } from "../coding.ts";
import { Encoded } from "../encoded.ts";
import type { HttpCall } from "../exchange.ts";
import {
  describeFailure,
  failureBody,
  failureEnvelope,
  failureStatus,
  tooLargeReply,
} from "../failure.ts";
import type { Gateway } from "../options.ts";
import {
  createJsonText,
  escapeHtml,
  JSON_TYPE,
  type JsonForm,
  jsonText,
  type Signalled,
  serialize,
} from "../serialize.ts";
import type { MethodSettings } from "../settings.ts";
import type { StreamReply } from "../stream.ts";
import type { Binding } from "./binding.ts";
import {
  entityTag,
  partOf,
  readLanguage,
  readState,
  type TagPrefix,
  withPart,
} from "./entity-tag.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import type { ReplyRule } from "./reply-rule.ts";

const textWriter = memoize((form: JsonForm) => createJsonText(escapeHtml, form));

/** The JSON text of a response, or of its response_body field. */
function replyText(
  { field, method, shape }: ReplyRule,
  message: Message,
  { reply, isImmutable }: MethodSettings,
): string {
  const write = textWriter(reply.json);
  // An absent message is an empty one, if no envelope can contain null.
  const unset = field?.fieldKind === "message" && !isFieldSet(message, field);
  if (shape === "bare" && unset && field.message.typeName !== "google.protobuf.Value")
    return write(field.message, create(field.message));
  return write(method.output, message, { member: field, keepsParts: isImmutable });
}

/** Caches the text of long lists of an immutable reply; see JsonText. */
export function prepareText(
  { field, method }: ReplyRule,
  message: Message,
  { reply }: MethodSettings,
  request: Signalled,
): Promise<void> | undefined {
  return textWriter(reply.json).prepare(method.output, message, request, field);
}

type Headers = Readonly<Record<string, string>>;

/** A body that is ready to be sent. */
export interface Variant {
  readonly headers: Headers;
  /** A short one is text, which is sent in one piece with its head. */
  readonly body: Buffer | string;
}

/** Longest body that is sent as text, in UTF-16 units. */
const SHORT = 2_048;

/** A successful reply and its compressed variants, each encoded once. */
export class RestReply {
  /** HTTP status of the reply: 207 for an envelope with a notice, if the status follows the code. */
  readonly status: number;
  /** The opaque text of the entity tag without a coding; undefined: the reply has none. */
  readonly state: string | undefined;
  /** Whether the tag identifies the caller's part of the state. */
  readonly isPart: boolean;
  /** The tag in the form in which a client sends it back: compared before parsing. */
  readonly tag: string | undefined;
  /** Whether a variant may be compressed. */
  readonly isCompressible: boolean;
  readonly #type: string;
  readonly #size: number;
  readonly #text: Buffer | string;
  /** Headers of all variants and of 304. */
  readonly #common: Headers;
  /** Compressed variants, from the first one on. */
  #variants: Map<Coding, Promise<Variant>> | undefined;
  #identity: Variant | undefined;

  /** @throws UnencodableReply, and RESOURCE_EXHAUSTED for a reply over writeMaxBytes. */
  constructor(
    { reply: rule }: Binding,
    message: Message,
    gateway: Gateway,
    settings: MethodSettings,
  ) {
    const shown = readState(rule, message, gateway.prefix);
    const part = partOf(message);
    this.state = shown && part ? withPart(shown, part) : shown;
    this.isPart = part !== undefined;
    this.tag = this.state === undefined ? undefined : entityTag(this.state);
    this.#type = rule.raw ? typeOf(httpBodyOf(message, rule.field)) : TYPES[rule.shape];
    const isPartial = gateway.httpStatus === "code" && noticeOf(rule, message) !== "";
    this.status = isPartial ? 207 : rule.status;
    this.#text = encodeBody(rule, message, settings);
    this.#size = Buffer.byteLength(this.#text);
    if (this.#size > settings.writeMaxBytes)
      throw tooLargeReply(this.#size, settings.writeMaxBytes);
    this.isCompressible =
      settings.codings.length > 0 &&
      this.#size >= settings.compressMinBytes &&
      COMPRESSIBLE.test(this.#type);
    this.#common = commonHeaders(rule, message, gateway, this.isCompressible);
  }

  /** The reply in a coding, or uncompressed if that is not smaller. */
  compressed(coding: Coding): Promise<Variant> {
    this.#variants ??= new Map();
    const known = this.#variants.get(coding);
    if (known !== undefined) return known;
    const variant = this.#compress(coding);
    this.#variants.set(coding, variant);
    return variant;
  }

  /** The headers of 304 for a client that has the reply with this tag. */
  unchanged(tag: string): Variant {
    return { headers: { etag: tag, ...this.#common }, body: "" };
  }

  uncompressed(): Variant {
    const text = this.#text;
    const isShort = typeof text === "string" && text.length <= SHORT;
    this.#identity ??= this.#variant(isShort ? text : Buffer.from(text), this.#size);
    return this.#identity;
  }

  async #compress(coding: Coding): Promise<Variant> {
    const bytes = Buffer.from(this.#text);
    const body = await new Encoded(bytes).compress(coding);
    if (body === bytes) return this.uncompressed();
    return this.#variant(body, body.length, coding);
  }

  #variant(body: Buffer | string, size: number, coding?: Coding): Variant {
    const headers: Record<string, string> = { ...this.#common };
    // RFC 9110, section 8.6.
    if (this.status !== NO_CONTENT) {
      headers["content-type"] = this.#type;
      headers["content-length"] = String(size);
    }
    if (coding !== undefined) headers["content-encoding"] = coding.name;
    if (this.state !== undefined) headers["etag"] = entityTag(this.state, coding);
    return { body, headers };
  }
}

const NO_CONTENT = 204;

/** Types whose bodies become smaller; images, archives and others are compressed already. */
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|[^;]*[/+](?:json|xml|yaml|javascript|x-ndjson|jsonl|wasm)\b|image\/svg|font\/(?:ttf|otf))/i;

/** Headers of all variants of a reply, and of 304. */
function commonHeaders(
  rule: ReplyRule,
  message: Message,
  gateway: Gateway,
  isCompressible: boolean,
): Headers {
  const headers: Record<string, string> = { "cache-control": cacheControl(rule, gateway) };
  const vary = [
    ...(isCompressible ? ["Accept-Encoding"] : []),
    ...(rule.language === undefined ? [] : ["Accept-Language"]),
  ];
  if (vary.length > 0) headers["vary"] = vary.join(", ");
  const language = rule.language === undefined ? "" : readLanguage(rule, message);
  if (language !== "") headers["content-language"] = language;
  return headers;
}

const TYPES: Readonly<Record<ReplyRule["shape"], string>> = {
  bare: JSON_TYPE,
  envelope: JSON_TYPE,
  "envelope-null": JSON_TYPE,
  events: JSON_TYPE,
  text: "text/plain; charset=utf-8",
};

function encodeBody(rule: ReplyRule, message: Message, settings: MethodSettings): Buffer | string {
  if (rule.status === NO_CONTENT) return "";
  if (rule.raw) return Buffer.from(httpBodyOf(message, rule.field)?.data ?? []);
  if (rule.shape === "envelope-null") return successEnvelope("null", noticeOf(rule, message));
  if (rule.shape === "text") return plainText(rule, message);
  const text = replyText(rule, message, settings);
  return rule.shape === "envelope" ? successEnvelope(text, noticeOf(rule, message)) : text;
}

function noticeOf({ notice }: ReplyRule, message: Message): string {
  return notice === undefined ? "" : String(Reflect.get(message, notice.localName));
}

/**
 * The envelope of a successful reply with this JSON text.
 *
 * @param notice what the call left out; empty: nothing.
 */
function successEnvelope(data: string, notice: string): string {
  if (notice === "") return `{"code":200,"message":"success","data":${data}}`;
  return `{"code":207,"message":${JSON.stringify(notice)},"data":${data}}`;
}

/** createReplyRule ensures that the field is text. */
function plainText({ field, method }: ReplyRule, message: Message): string {
  serialize(method.output, message);
  return field === undefined ? "" : String(Reflect.get(message, field.localName));
}

function cacheControl(rule: ReplyRule, gateway: Gateway): string {
  if (!rule.kept) return "no-store";
  return gateway.cacheControl?.(rule.method) ?? "private, no-store";
}

/** Format of a server stream: each message is a line or an array element of JSON, or an event. */
export type StreamFormat = "lines" | "array" | "events";

/** The first supported format in an Accept header; lines if it has none. */
export function streamFormat(accept: string | undefined): StreamFormat {
  for (const range of (accept ?? "").toLowerCase().split(",")) {
    const format = FORMATS.get((range.split(";", 1)[0] ?? "").trim());
    if (format !== undefined) return format;
  }
  return "lines";
}

const FORMATS: ReadonlyMap<string, StreamFormat> = new Map([
  ["application/x-ndjson", "lines"],
  ["application/jsonl", "lines"],
  ["application/json", "array"],
  ["text/event-stream", "events"],
]);

/** Content-Type of each format. */
export const STREAM_TYPES: Readonly<Record<StreamFormat, string>> = {
  lines: "application/x-ndjson",
  array: "application/json; charset=utf-8",
  events: "text/event-stream",
};

interface Target {
  readonly call: HttpCall;
  readonly rule: ReplyRule;
  readonly gateway: Gateway;
  readonly settings: MethodSettings;
}

/** Parts of a stream's reply that all formats share. */
function opened({ call }: Target, type: string): Pick<StreamReply, "sink" | "isOpen" | "open"> {
  const { http } = call;
  return {
    sink: http.sink,
    isOpen: () => http.isBegun || http.isGone,
    open: () => http.begin(headersOf(call, type)),
  };
}

/**
 * A server stream as JSON: a message per line, or an array. An error after the first message is
 * `{"error": google.rpc.Status}` in place of the next one.
 */
export function jsonStream(format: "lines" | "array", target: Target): StreamReply {
  const { call, rule, settings } = target;
  const isArray = format === "array";
  let count = 0;
  const piece = (text: string): string => {
    count += 1;
    if (!isArray) return `${text}\n`;
    return count === 1 ? `[${text}` : `,\n${text}`;
  };
  return {
    ...opened(target, STREAM_TYPES[format]),
    encode: (message) =>
      Buffer.from(piece(withinLimit(replyText(rule, message, settings), settings))),
    end: (error) => {
      const last = error === undefined ? "" : piece(errorText(error, target));
      const close = count === 0 ? "[]" : "]";
      call.http.end(isArray ? `${last}${close}` : last);
    },
  };
}

/** A stream of google.api.HttpBody: the bytes of all messages, with the type of the first. */
export function rawStream({ call, rule, gateway, settings }: Target): StreamReply {
  const { http } = call;
  const body = (message: Message) => httpBodyOf(message, rule.field);
  const open = (first?: Message): void => http.begin(headersOf(call, typeOf(first && body(first))));
  let begun = false;
  return {
    sink: http.sink,
    isOpen: () => begun || http.isGone,
    // Its type is unknown before the first message.
    open: (first) => {
      if (first === undefined) return;
      begun = true;
      open(first);
    },
    encode: (message) => withinLimit(Buffer.from(body(message)?.data ?? []), settings),
    end: (error) => {
      if (!begun) open();
      if (error === undefined) return http.end();
      if (describeFailure(error).unexpected) gateway.reportMasked(error, http);
      // The body has no form for an error: the reply is aborted.
      http.destroy();
    },
  };
}

const BEAT = Buffer.from(":\n\n");

/** Writes a message as an event (HTML Living Standard, section 9.2); its state is the event's id. */
export function encodeEvent(
  rule: ReplyRule,
  message: Message,
  prefix: TagPrefix,
  settings: MethodSettings,
): Buffer {
  const state = readState(rule, message, prefix);
  const id = state === undefined ? "" : `id: ${state}\n`;
  const data = withinLimit(replyText(rule, message, settings), settings);
  return Buffer.from(`${id}data: ${data}\n\n`);
}

/** @throws RESOURCE_EXHAUSTED for a message of a stream that is longer than writeMaxBytes. */
function withinLimit<T extends Buffer | string>(message: T, { writeMaxBytes }: MethodSettings): T {
  const size = Buffer.byteLength(message);
  if (size > writeMaxBytes) throw tooLargeReply(size, writeMaxBytes);
  return message;
}

/** A server stream as events. An event `error` with the error is the last one of a stream that fails. */
export function eventStream(encode: (message: Message) => Buffer, target: Target): StreamReply {
  const { call, gateway } = target;
  return {
    ...opened(target, STREAM_TYPES.events),
    encode,
    beat: BEAT,
    end: (error) => {
      if (error === undefined) return call.http.end();
      const failure = describeFailure(error);
      if (failure.unexpected) gateway.reportMasked(error, call.http);
      const text =
        gateway.errors === "envelope"
          ? failureEnvelope(failure)
          : failureBody(failure, gateway.registry);
      call.http.end(`event: error\ndata: ${text}\n\n`);
    },
  };
}

/** `x-accel-buffering`: nginx would buffer the reply. */
function headersOf(call: HttpCall, type: string): Record<string, string | string[]> {
  return {
    ...call.replyHeaders(),
    "content-type": type,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  };
}

function errorText(error: unknown, { gateway, call }: Target): string {
  const failure = describeFailure(error);
  if (failure.unexpected) gateway.reportMasked(error, call.http);
  return jsonText({ error: failureStatus(failure.error, gateway.registry) });
}
