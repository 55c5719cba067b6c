import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { publicMethods } from "../access/authenticate.ts";
import type { Config } from "../config/config.ts";
import { memoize } from "../memoize.ts";

/** Longest body of a call that needs no token, in bytes. */
const PUBLIC_BODY = 4 * 1024;
/** Maximum size of a stream's request, which is kept as long as the stream, in bytes. */
const STREAM_BODY = 256 * 1024;
/** Bytes of the longest list of keys: 1,000 of 255 characters of four bytes, in quotes. */
const KEYS = 1024 * 1024;
/** Bytes in addition to a list of keys or a value. */
const BESIDE = 64 * 1024;

/**
 * Returns the maximum body size of a method in bytes, derived from its request message: `maxBody` for
 * values of many settings, less for requests that name keys or have one value. Larger bodies are
 * refused before decoding.
 */
export function createBodyLimit({
  maxBody,
  maxValue,
}: Pick<Config, "maxBody" | "maxValue">): (desc: DescMethod) => number {
  const least = Math.max(KEYS, maxValue) + BESIDE;
  return memoize((desc: DescMethod) => {
    if (publicMethods.has(desc)) return Math.min(maxBody, PUBLIC_BODY);
    if (desc.methodKind === "server_streaming") return Math.min(maxBody, STREAM_BODY);
    return holdsMany(desc.input) ? maxBody : Math.min(maxBody, least);
  });
}

/**
 * Reports whether a message holds an unbounded number of values: messages in a list, a map or a
 * JSON document.
 */
function holdsMany(desc: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some((field) => isMany(field) || inner(field, seen));
}

function isMany(field: DescField): boolean {
  if (field.fieldKind === "map") return true;
  return field.fieldKind === "list" && field.listKind === "message";
}

// A google.protobuf.Struct is a map.
function inner({ message }: DescField, seen: Set<DescMessage>): boolean {
  return message !== undefined && holdsMany(message, seen);
}
