import { create, isFieldSet, type Message } from "@bufbuild/protobuf";
import { memoize } from "../../memoize.ts";
import { type Coding, Encoded } from "../encoded.ts";
import type { HttpCall } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, failureStatus } from "../failure.ts";
import type { Gateway } from "../options.ts";
import { createJsonText, JSON_TYPE, jsonText, serialize } from "../serialize.ts";
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

const messageText = {
  json: createJsonText(jsonText, "json"),
  proto: createJsonText(jsonText, "proto"),
};

/** The JSON text of a response, or of its response_body field. */
function replyText(
  rule: ReplyRule,
  message: Message,
  { registry, memberNames }: Pick<Gateway, "registry" | "memberNames">,
): string {
  const { field, kept, method } = rule;
  const text = messageText[memberNames];
  // An absent message is an empty one, if no envelope can contain null.
  const unset = field?.fieldKind === "message" && !isFieldSet(message, field);
  if (rule.shape === "bare" && unset && field.message.typeName !== "google.protobuf.Value")
    return text(field.message, create(field.message), { registry });
  const isOnce = !kept && method.methodKind === "unary";
  return text(method.output, message, { registry, member: field, isOnce });
}

type Headers = Readonly<Record<string, string>>;

/** A body that is ready to be sent. */
export interface Variant {
  readonly headers: Headers;
  /** A short one is text, which is sent in one piece with its head. */
  readonly body: Buffer | string;
}

/** Bytes that many clients receive, and the compressed variants that are ready. */
interface Compressed {
  readonly encoded: Encoded;
  readonly variants: Map<Coding, Variant>;
}

/** Longest body that is sent as text, in UTF-16 units. */
const SHORT = 2_048;

/** A successful reply, encoded once by its binding. */
export class RestReply {
  /** HTTP status of the reply: 207 for an envelope with a notice, if the status follows the code. */
  readonly status: 200 | 207;
  /** The opaque text of the entity tag without a coding; undefined: the reply has none. */
  readonly state: string | undefined;
  /** Whether the tag identifies the caller's part of the state. */
  readonly isPart: boolean;
  /** The tag in the form in which a client sends it back: compared before parsing. */
  readonly tag: string | undefined;
  readonly #type: string;
  /** Headers of all variants and of 304. */
  readonly #common: Headers;
  readonly #identity: Variant;
  /** Undefined for a reply that is not compressed. */
  readonly #compressed: Compressed | undefined;

  /** @throws UnencodableReply */
  constructor({ reply: rule }: Binding, message: Message, gateway: Gateway) {
    const shown = readState(rule, message, gateway.prefix);
    const part = partOf(message);
    this.state = shown && part ? withPart(shown, part) : shown;
    this.isPart = part !== undefined;
    this.tag = this.state === undefined ? undefined : entityTag(this.state);
    this.#type = rule.raw ? typeOf(httpBodyOf(message, rule.field)) : TYPES[rule.shape];
    const isPartial = gateway.httpStatus === "code" && noticeOf(rule, message) !== "";
    this.status = isPartial ? 207 : 200;
    const text = encodeBody(rule, message, gateway);
    const encoded = rule.kept ? new Encoded(Buffer.from(text)) : undefined;
    const compressible = encoded?.compressible === true;
    this.#compressed = encoded?.compressible ? { encoded, variants: new Map() } : undefined;
    this.#common = {
      "cache-control": cacheControl(rule, gateway),
      ...languageHeaders(rule, message, compressible),
    };
    const isShort = typeof text === "string" && text.length <= SHORT;
    this.#identity = this.#variant(isShort ? text : (encoded?.bytes ?? Buffer.from(text)));
  }

  /**
   * The reply for a client that accepts these codings, the preferred one first. A compressed
   * variant is created on first use; until it is ready, the reply is sent uncompressed.
   */
  variant(accepted: readonly Coding[]): Variant {
    const [preferred] = accepted;
    if (preferred === undefined || this.#compressed === undefined) return this.#identity;
    const { encoded, variants } = this.#compressed;
    const body = encoded.offer(preferred);
    if (body !== undefined && body !== encoded.bytes && !variants.has(preferred))
      variants.set(preferred, this.#variant(body, preferred));
    const ready = accepted.find((coding) => variants.has(coding));
    return (ready && variants.get(ready)) ?? this.#identity;
  }

  /** The headers of 304 for a client that has the reply with this tag. */
  unchanged(tag: string): Variant {
    return { headers: { etag: tag, ...this.#common }, body: "" };
  }

  #variant(body: Buffer | string, coding?: Coding): Variant {
    const headers: Record<string, string> = {
      "content-type": this.#type,
      "content-length": String(Buffer.byteLength(body)),
      ...this.#common,
    };
    if (coding !== undefined) headers["content-encoding"] = coding;
    if (this.state !== undefined) headers["etag"] = entityTag(this.state, coding);
    return { body, headers };
  }
}

/** Headers of a reply's variants, and its language. */
function languageHeaders(rule: ReplyRule, message: Message, compressible: boolean): Headers {
  const vary = compressible ? { vary: "Accept-Encoding" } : {};
  if (rule.language === undefined) return vary;
  const language = readLanguage(rule, message);
  return {
    vary: compressible ? "Accept-Encoding, Accept-Language" : "Accept-Language",
    ...(language === "" ? {} : { "content-language": language }),
  };
}

const TYPES: Readonly<Record<ReplyRule["shape"], string>> = {
  bare: JSON_TYPE,
  envelope: JSON_TYPE,
  "envelope-null": JSON_TYPE,
  events: JSON_TYPE,
  text: "text/plain; charset=utf-8",
};

function encodeBody(rule: ReplyRule, message: Message, gateway: Gateway): Buffer | string {
  if (rule.raw) return Buffer.from(httpBodyOf(message, rule.field)?.data ?? []);
  if (rule.shape === "envelope-null") return successEnvelope("null", noticeOf(rule, message));
  if (rule.shape === "text") return plainText(rule, message);
  const text = replyText(rule, message, gateway);
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
  const { call, rule, gateway } = target;
  const isArray = format === "array";
  let count = 0;
  const piece = (text: string): string => {
    count += 1;
    if (!isArray) return `${text}\n`;
    return count === 1 ? `[${text}` : `,\n${text}`;
  };
  return {
    ...opened(target, STREAM_TYPES[format]),
    encode: (message) => Buffer.from(piece(replyText(rule, message, gateway))),
    end: (error) => {
      const last = error === undefined ? "" : piece(errorText(error, target));
      const close = count === 0 ? "[]" : "]";
      call.http.end(isArray ? `${last}${close}` : last);
    },
  };
}

/** A stream of google.api.HttpBody: the bytes of all messages, with the type of the first. */
export function rawStream({ call, rule, gateway }: Target): StreamReply {
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
    encode: (message) => Buffer.from(body(message)?.data ?? []),
    end: (error) => {
      if (!begun) open();
      if (error === undefined) return http.end();
      if (describeFailure(error).unexpected) gateway.report?.(error, http);
      // The body has no form for an error: the reply is aborted.
      http.destroy();
    },
  };
}

const BEAT = Buffer.from(":\n\n");

/** Writes a message as an event (HTML Living Standard, section 9.2); its state is the event's id. */
export function createEventEncoder(
  rule: ReplyRule,
  prefix: TagPrefix,
  gateway: Pick<Gateway, "registry" | "memberNames">,
): (message: Message) => Buffer {
  return memoize((message) => {
    const state = readState(rule, message, prefix);
    const id = state === undefined ? "" : `id: ${state}\n`;
    return Buffer.from(`${id}data: ${replyText(rule, message, gateway)}\n\n`);
  });
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
      if (failure.unexpected) gateway.report?.(error, call.http);
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
  if (failure.unexpected) gateway.report?.(error, call.http);
  return jsonText({ error: failureStatus(failure.error, gateway.registry) });
}
