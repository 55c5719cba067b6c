import { hash } from "node:crypto";
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { BadRequest } from "../../transport/body.ts";
import type { Coding } from "../coding.ts";
import { quote } from "../failure.ts";
import type { StateField } from "./field.ts";
import type { ReplyRule } from "./reply-rule.ts";

/** Prefix of the state in a tag. Read only when a tag is written or read. */
export type TagPrefix = () => string;

/**
 * The state of a reply as the opaque text of its entity tag without a coding: prefix, state and,
 * unless it is English, language. Undefined when the binding has no state or the state is empty
 * text.
 */
export function readState(
  rule: ReplyRule,
  message: Message,
  prefix: TagPrefix,
): string | undefined {
  if (rule.state === undefined) return undefined;
  const value = (message as unknown as Record<string, unknown>)[rule.state.localName];
  const text = String(value ?? "");
  if (text === "") return undefined;
  const escaped = text.toWellFormed().replace(/[^\x21\x23-\x24\x26-\x7e]/gu, encodeURIComponent);
  const language = readLanguage(rule, message);
  return prefix() + escaped + (language === "" || language === "en" ? "" : `~${language}`);
}

/**
 * The opaque text of a tag for a part of a state: a strong tag names one representation (RFC 9110,
 * section 8.8.1).
 *
 * @param part what the caller sees; the tag has a hash of it.
 */
export function withPart(state: string, part: string): string {
  return `${state}~${hash("sha256", part, "hex").slice(0, PART_DIGITS)}`;
}

const PART_DIGITS = 16;

/** Language that a reply names for its texts; empty: none. */
export function readLanguage(rule: ReplyRule, message: Message): string {
  if (rule.language === undefined) return "";
  return String((message as unknown as Record<string, unknown>)[rule.language.localName] ?? "");
}

/** The strong entity tag of a state in one coding (RFC 9110, section 8.8.3). */
export function entityTag(state: string, coding?: Coding): string {
  return coding ? `"${state}-${coding.name}"` : `"${state}"`;
}

/**
 * Matches a state, in any coding, with an If-None-Match header, and returns the tag to send with
 * 304; undefined: no match. The comparison is weak (RFC 9110, section 13.1.2).
 */
export function matchNoneMatch(header: string, state: string): string | undefined {
  if (header.trim() === "*") return entityTag(state);
  for (const [, opaque = ""] of header.matchAll(TAG)) {
    if (opaque === state || withoutCoding(opaque) === state) return `"${opaque}"`;
  }
  return undefined;
}

/**
 * State in an If-Match header, for its request field; undefined for `*`. A weak tag is accepted:
 * proxies that compress a reply weaken its tag, and the state is the same. A text field gets a tag of
 * another service unchanged, which its rpc does not know.
 *
 * @throws ABORTED for such a tag, for a number; INVALID_ARGUMENT for several tags.
 */
export function readIfMatch(field: StateField, header: string, prefix: TagPrefix): unknown {
  if (header.trim() === "*") return undefined;
  const tags = [...header.matchAll(TAG)];
  if (tags.length > 1) throw new BadRequest("HEADER_INVALID", "If-Match: give one entity tag");
  const opaque = tags[0]?.[1];
  const value = opaque === undefined ? undefined : readStateText(field, opaque, prefix());
  if (value !== undefined) return value;
  if (opaque !== undefined && !field.numeric) return opaque;
  throw new BadRequest(
    "HEADER_INVALID",
    `If-Match: ${quote(header)} is not a revision of this database: read again and send the new ETag`,
    Code.Aborted,
  );
}

/**
 * State in a Last-Event-ID header, for its request field. A text field gets an id of another
 * service unchanged: the rpc may begin again, while an error would end a browser's EventSource.
 *
 * @throws OUT_OF_RANGE for such an id, for a number.
 */
export function readLastEventId(field: StateField, header: string, prefix: TagPrefix): unknown {
  const value = readStateText(field, header, prefix());
  if (value !== undefined) return value;
  if (!field.numeric) return header;
  throw new BadRequest(
    "HEADER_INVALID",
    `Last-Event-ID: ${quote(header)} is not a revision of this database: connect again without it`,
    Code.OutOfRange,
  );
}

const TAG = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

const INT64_MAX = 2n ** 63n - 1n;

function readStateText(field: StateField, opaque: string, prefix: string): unknown {
  if (!opaque.startsWith(prefix)) return undefined;
  // Language and part do not belong to the state.
  const state = withoutCoding(opaque.slice(prefix.length)).replace(
    /(?:~[a-zA-Z-]+)?(?:~[0-9a-f]{16})?$/,
    "",
  );
  if (!field.numeric) return unescapeState(state);
  if (!/^\d{1,19}$/.test(state)) return undefined;
  const value = BigInt(state);
  return value <= INT64_MAX ? value : undefined;
}

function withoutCoding(opaque: string): string {
  return opaque.replace(/-(?:gzip|br)$/, "");
}

function unescapeState(state: string): string | undefined {
  try {
    return decodeURIComponent(state);
  } catch {
    return undefined;
  }
}

const parts = new WeakMap<Message, string>();

/**
 * Marks a reply that shows only a part of its state, because of the caller's rights.
 *
 * @param part key of the shown part. Empty: all of it.
 * @returns the reply.
 */
export function asPart<M extends Message>(reply: M, part: string): M {
  if (part !== "") parts.set(reply, part);
  return reply;
}

/** The part of its state that a reply shows; undefined: all of it. */
export function partOf(reply: Message): string | undefined {
  return parts.get(reply);
}
