import type { Message } from "@bufbuild/protobuf";
import type { Coding } from "../coding.ts";
import { Encoded } from "../encoded.ts";
import { tooLargeReply } from "../failure.ts";
import type { Gateway } from "../options.ts";
import { JSON_TYPE, serialize } from "../serialize.ts";
import type { MethodSettings } from "../settings.ts";
import type { Binding } from "./binding.ts";
import { entityTag, partOf, readLanguage, readState, withPart } from "./entity-tag.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import type { ReplyRule } from "./reply-rule.ts";
import { replyText } from "./reply-text.ts";

type Headers = Readonly<Record<string, string>>;

/** Reply in one content coding, ready to be sent. */
export interface Variant {
  readonly headers: Headers;
  /** Text if it is short: it is sent in one piece with its head. */
  readonly body: Buffer | string;
}

/** Longest body that is sent as text, in UTF-16 units. */
const MAX_TEXT = 2_048;

function bodyToSend(body: Buffer | string): Buffer | string {
  return typeof body === "string" && body.length > MAX_TEXT ? Buffer.from(body) : body;
}

const NO_CONTENT = 204;

/** A successful reply and its compressed variants, each encoded once. */
export class RestReply {
  /** HTTP status of the reply: 207 for an envelope with a notice, if the status follows the code. */
  readonly status: number;
  /** The opaque text of the entity tag without a coding; undefined: the reply has none. */
  readonly opaqueTag: string | undefined;
  /** Whether the tag is that of the part of the state which the caller may see. */
  readonly isPart: boolean;
  /** The tag without a coding as a client sends it back: compared before `If-None-Match` is parsed. */
  readonly tag: string | undefined;
  /** Whether a variant may be compressed. */
  readonly isCompressible: boolean;
  readonly #type: string;
  readonly #size: number;
  readonly #body: Buffer | string;
  /** Headers of all variants and of 304. */
  readonly #common: Headers;
  /** Compressed variants; undefined before the first one. */
  #variants: Map<Coding, Promise<Variant>> | undefined;
  #identity: Variant | undefined;

  /** @throws UnencodableReply, and RESOURCE_EXHAUSTED for a reply over writeMaxBytes. */
  constructor(
    { reply: rule }: Binding,
    message: Message,
    gateway: Gateway,
    settings: MethodSettings,
  ) {
    const state = readState(rule, message, gateway.prefix);
    const part = partOf(message);
    this.opaqueTag = state && part ? withPart(state, part) : state;
    this.isPart = part !== undefined;
    this.tag = this.opaqueTag === undefined ? undefined : entityTag(this.opaqueTag);
    this.#type = rule.raw ? typeOf(httpBodyOf(message, rule.field)) : TYPES[rule.shape];
    const isPartial = gateway.httpStatus === "code" && noticeOf(rule, message) !== "";
    this.status = isPartial ? 207 : rule.status;
    this.#body = encodeBody(rule, message, settings);
    this.#size = Buffer.byteLength(this.#body);
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
    this.#identity ??= this.#variant(bodyToSend(this.#body), this.#size);
    return this.#identity;
  }

  async #compress(coding: Coding): Promise<Variant> {
    const bytes = Buffer.from(this.#body);
    const body = await new Encoded(bytes).compress(coding);
    if (body === bytes) return this.uncompressed();
    return this.#variant(body, body.length, coding);
  }

  #variant(body: Buffer | string, size: number, coding?: Coding): Variant {
    const headers: Record<string, string> = { ...this.#common };
    // A reply 204 has no content (RFC 9110, section 8.6).
    if (this.status !== NO_CONTENT) {
      headers["content-type"] = this.#type;
      headers["content-length"] = String(size);
    }
    if (coding !== undefined) headers["content-encoding"] = coding.name;
    if (this.opaqueTag !== undefined) headers["etag"] = entityTag(this.opaqueTag, coding);
    return { body, headers };
  }
}

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
