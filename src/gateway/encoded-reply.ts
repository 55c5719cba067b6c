import type { Message } from "@bufbuild/protobuf";
import { type Coding, entityTag, readState, type TagPrefix } from "./entity-tag.ts";
import { JSON_TYPE } from "./envelope.ts";
import { encodeBody } from "./reply-body.ts";
import type { ReplyRule } from "./reply-rule.ts";

/** A reply in one coding, ready to be sent. */
export interface Variant {
  /** Bytes, or for a short body the same bytes as latin1 text: see SHORT_BODY. */
  readonly body: Buffer | string;
  /** All headers that don't change from request to request, names and values by turns. */
  readonly headers: readonly string[];
}

/** A successful reply, encoded once. */
export interface EncodedReply {
  /** The opaque text of the entity tag without a coding; undefined: the reply has none. */
  readonly state: string | undefined;
  /** The tag as a client sends it back: compared before anything is parsed. */
  readonly tag: string | undefined;
  readonly cacheControl: string;
  /** Value of the Vary header; empty: none. */
  readonly vary: string;
  /** Headers of the reply that says that the client has this one, by its own tag. */
  readonly unchanged: readonly string[];
  readonly type: string;
  /** The reply is kept and long enough, so that it pays to compress it. */
  readonly compressible: boolean;
  /** The body that is not compressed. */
  readonly bytes: Buffer;
  readonly identity: Variant;
  /** Compressed variants that are ready. */
  readonly coded: Map<Coding, Variant>;
  /** Codings that have been started, also those that failed or made nothing smaller. */
  readonly started: Set<Coding>;
}

/** What the same binding's replies have in common. */
export interface EncodingRules {
  readonly reply: ReplyRule;
  readonly cacheControl: string;
  readonly prefix: TagPrefix;
  /** Replies differ by the Origin header. */
  readonly variesByOrigin: boolean;
}

/** Shortest body that is compressed, in bytes: below it the headers outweigh the gain. */
const COMPRESSIBLE_SIZE = 1_024;

/** Encodes a response message as its binding says; a promise where its list is long. */
export function encodeReply(
  rules: EncodingRules,
  message: Message,
): EncodedReply | Promise<EncodedReply> {
  const state = readState(rules.reply, message, rules.prefix);
  const body = encodeBody(rules.reply, message);
  if (Buffer.isBuffer(body)) return createReply(rules, state, body);
  return body.then((bytes) => createReply(rules, state, bytes));
}

function createReply(rules: EncodingRules, state: string | undefined, body: Buffer): EncodedReply {
  const { reply, cacheControl } = rules;
  const compressible = reply.kept && body.length >= COMPRESSIBLE_SIZE;
  const type = reply.shape === "text" ? "text/plain; charset=utf-8" : JSON_TYPE;
  const tag = state === undefined ? undefined : entityTag(state);
  const vary = varyValue(compressible, rules.variesByOrigin);
  const unchanged = tag === undefined ? [] : unchangedHeaders({ cacheControl, vary }, tag);
  const common = { state, tag, cacheControl, vary, unchanged, type, compressible };
  const identity = createVariant(common, body);
  return { ...common, bytes: body, identity, coded: new Map(), started: new Set() };
}

/** Headers of 304, names and values by turns. */
export function unchangedHeaders(
  { cacheControl, vary }: Pick<EncodedReply, "cacheControl" | "vary">,
  tag: string,
): readonly string[] {
  const own = ["ETag", tag, "Cache-Control", cacheControl];
  return vary === "" ? own : [...own, "Vary", vary];
}

/** Makes a variant from a body that is encoded already. */
export function createVariant(
  reply: Pick<EncodedReply, "state" | "type" | "cacheControl" | "vary">,
  body: Buffer,
  coding?: Coding,
): Variant {
  const headers = ["Content-Type", reply.type, "Content-Length", String(body.length)];
  if (coding) headers.push("Content-Encoding", coding);
  if (reply.state !== undefined) headers.push("ETag", entityTag(reply.state, coding));
  if (reply.vary !== "") headers.push("Vary", reply.vary);
  headers.push("Cache-Control", reply.cacheControl);
  return { body: body.length <= SHORT_BODY ? body.toString("latin1") : body, headers };
}

/**
 * Longest body that goes out as text, in bytes. node:http joins a text with the headers and writes
 * both at once, where a buffer takes a vectored write: about 4 % of a request's whole cost at
 * 2.5 kB, the other way round from 10 kB on. latin1 keeps every byte as it is.
 */
const SHORT_BODY = 4_096;

// One header with both names: HTTP/2 servers of Node keep only the last of two.
function varyValue(compressible: boolean, byOrigin: boolean): string {
  if (!compressible) return byOrigin ? "Origin" : "";
  return byOrigin ? "Accept-Encoding, Origin" : "Accept-Encoding";
}
