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
  if (rule.shape === "envelope-null") return successEnvelope("null");
  if (rule.shape === "text") return plainText(rule, message);
  const text = replyText(rule, message, gateway);
  return rule.shape === "envelope" ? successEnvelope(text) : text;
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
