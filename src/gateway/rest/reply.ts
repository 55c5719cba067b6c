import { create, isFieldSet, type Message } from "@bufbuild/protobuf";
import { type Coding, Encoded } from "../encoded.ts";
import { JSON_TYPE, jsonText, successEnvelope } from "../envelope.ts";
import { createJsonText } from "../json-text.ts";
import type { Gateway } from "../options.ts";
import { partOf } from "../part.ts";
import { serialize } from "../serialize.ts";
import type { Binding } from "./binding.ts";
import { entityTag, readLanguage, readState, withPart } from "./entity-tag.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import type { ReplyRule } from "./reply-rule.ts";

const messageText = {
  json: createJsonText(jsonText, "json"),
  proto: createJsonText(jsonText, "proto"),
};

/** The JSON text of a response, or of its response_body field. */
export function replyText(
  rule: ReplyRule,
  message: Message,
  { registry, memberNames }: Pick<Gateway, "registry" | "memberNames">,
): string {
  const { field, kept, method } = rule;
  const text = messageText[memberNames];
  // A message that is not there is an empty one, where no envelope can say null.
  const unset = field?.fieldKind === "message" && !isFieldSet(message, field);
  if (rule.shape === "bare" && unset && field.message.typeName !== "google.protobuf.Value")
    return text(field.message, create(field.message), { registry });
  const isOnce = !kept && method.methodKind === "unary";
  return text(method.output, message, { registry, member: field, isOnce });
}

type Headers = Readonly<Record<string, string>>;

/** A part of a reply that is ready to be sent. */
export interface Variant {
  readonly headers: Headers;
  /** A short one is text, which goes out in one piece with its head. */
  readonly body: Buffer | string;
}

/** A successful reply, encoded once. */
export interface RestReply {
  /** The opaque text of the entity tag without a coding; undefined: the reply has none. */
  readonly state: string | undefined;
  /** Whether the tag identifies the caller's part of the state. */
  readonly isPart: boolean;
  /** The tag as a client sends it back: compared before anything is parsed. */
  readonly tag: string | undefined;
  /**
   * The reply for a client that accepts these codings, the preferred one first. A compressed
   * variant is created on first use; until it is ready, the reply is sent uncompressed.
   */
  variant(accepted: readonly Coding[]): Variant;
  /** The headers of 304 for a client that has the reply with this tag. */
  unchanged(tag: string): Variant;
}

/** Longest body that is sent as text, in UTF-16 units. */
const SHORT = 2_048;

/** Encodes a response message as its binding says. */
export function createReply(binding: Binding, message: Message, gateway: Gateway): RestReply {
  const rule = binding.reply;
  const shown = readState(rule, message, gateway.prefix);
  const text = encodeBody(rule, message, gateway);
  const encoded = rule.kept ? new Encoded(Buffer.from(text)) : undefined;
  const part = partOf(message);
  const state = shown && part ? withPart(shown, part) : shown;
  const compressible = encoded?.compressible === true;
  const common: Headers = {
    "cache-control": cacheControl(rule, gateway),
    ...languageHeaders(rule, message, compressible),
  };
  const type = rule.raw ? typeOf(httpBodyOf(message, rule.field)) : TYPES[rule.shape];
  const variantOf = (body: Buffer | string, coding?: Coding): Variant => {
    const headers: Record<string, string> = {
      "content-type": type,
      "content-length": String(Buffer.byteLength(body)),
    };
    if (coding !== undefined) headers["content-encoding"] = coding;
    if (state !== undefined) headers["etag"] = entityTag(state, coding);
    return { body, headers: Object.assign(headers, common) };
  };
  const isShort = typeof text === "string" && text.length <= SHORT;
  const identity = variantOf(isShort ? text : (encoded?.bytes ?? Buffer.from(text)));
  const coded = new Map<Coding, Variant>();
  const ready = (coding: Coding): Variant | undefined => {
    const body = encoded?.offer(coding);
    if (body === undefined || body === encoded?.bytes) return undefined;
    const variant = coded.get(coding) ?? variantOf(body, coding);
    coded.set(coding, variant);
    return variant;
  };
  return {
    state,
    isPart: part !== undefined,
    tag: state === undefined ? undefined : entityTag(state),
    variant: ([preferred, ...others]) => {
      if (preferred === undefined || !compressible) return identity;
      const made = ready(preferred);
      const other = others.find((coding) => coded.has(coding));
      return made ?? (other && coded.get(other)) ?? identity;
    },
    unchanged: (tag) => ({ headers: { etag: tag, ...common }, body: "" }),
  };
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
  if (rule.shape === "envelope-null") return successEnvelope("null");
  if (rule.shape === "text") return plainText(rule, message);
  const text = replyText(rule, message, gateway);
  return rule.shape === "envelope" ? successEnvelope(text) : text;
}

/** createReplyRule has seen to it that the field is a text. */
function plainText({ field, method }: ReplyRule, message: Message): string {
  serialize(method.output, message);
  return field === undefined ? "" : String(Reflect.get(message, field.localName));
}

function cacheControl(rule: ReplyRule, gateway: Gateway): string {
  if (!rule.kept) return "no-store";
  return gateway.cacheControl?.(rule.method) ?? "private, no-store";
}
