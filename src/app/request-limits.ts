import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { publicMethods } from "../access/requirement.ts";
import type { Config } from "../config/config.ts";
import { LIMITS } from "../drivers/limits.ts";
import { memoize } from "../memoize.ts";
import type { MessageLimits } from "../transport/body.ts";
import { isStruct, MESSAGE_LIMITS } from "../transport/decode.ts";

/** Longest body of a call that needs no token, in bytes. */
const PUBLIC_BODY = 4 * 1024;
/**
 * Longest body of a call without long texts, in bytes; also of a stream, which keeps its request: the
 * longest limits of a token have about 100 KiB. Longer ones are decoded one at a time.
 */
const SHORT_BODY = 256 * 1024;
/** Fields of a request with up to 1,000 names, or the value of a setting or an item. */
const LONG_FIELDS = new Set(["keys", "names", "paths", "only", "value", "uri", "url", "secret"]);
/** Bytes of the longest list of keys: 1,000 of 255 characters of four bytes, in quotes. */
const KEYS = 1024 * 1024;
/** Maximum number of values of a request without settings, mounts or a document: lists of 1,000 names. */
const FEW_VALUES = 2_500;
/** Maximum number of values of a list of settings: 1,000 of about 30 values, as a reply shows them. */
const MANY_VALUES = 40_000;
/**
 * Maximum number of values of a document with rows: 10,000 mounts of 40 values, or 20,000 settings of
 * 20. The number of rows is checked by the call itself.
 */
const DOCUMENT_VALUES = 400_000;
/** Rows of a document, for the error of too many values, by request. */
const DOCUMENT_ROWS = ": a document has at most 10,000 mounts and 20,000 settings";
const ROWS: Readonly<Record<string, string>> = {
  ImportArchiveRequest: DOCUMENT_ROWS,
  RestoreBackupRequest: DOCUMENT_ROWS,
};
/** Fields of a request with the values of one driver's items. */
const ITEM_FIELDS = new Set(["values", "text_values"]);
/** Maximum number of values of such a request: 1,000 items of up to three values, and unknown ones. */
const ITEM_VALUES = 10_000;
/** Bytes of the longest value of an item, in characters of four bytes. */
const ITEM = 4 * LIMITS.longValue;
/** Bytes in addition to a list of keys or a value. */
const BESIDE = 64 * 1024;

/**
 * Returns the maximum body size of a method in bytes, derived from its request message: `maxBody` for
 * values of many settings, about 2 MiB for the items of one driver, about 1 MiB for names of many or
 * one value (by LONG_FIELDS), 256 KiB otherwise. Larger bodies are refused before decoding.
 */
export function createBodyLimit({
  maxBody,
  maxValue,
}: Pick<Config, "maxBody" | "maxValue">): (desc: DescMethod) => number {
  const least = Math.max(KEYS, maxValue) + BESIDE;
  return memoize((desc: DescMethod) => {
    if (publicMethods.has(desc)) return Math.min(maxBody, PUBLIC_BODY);
    if (desc.methodKind === "server_streaming") return Math.min(maxBody, SHORT_BODY);
    if (holdsItems(desc.input)) return Math.min(maxBody, ITEM + BESIDE);
    if (holdsMany(desc.input)) return maxBody;
    const isLong = desc.input.fields.some(({ name }) => LONG_FIELDS.has(name));
    return Math.min(maxBody, isLong ? least : SHORT_BODY);
  });
}

/**
 * Returns the limits of a method's request messages. The number of values is derived from the message:
 * 400,000 with a JSON document of rows, 100,000 with others, 40,000 with a list of messages or a map,
 * 10,000 with the items of one driver, 2,500 otherwise. A text may have twice the longest value, so
 * that the error of a value that is somewhat too long names its key, and as many bytes as the longest
 * item where the message has items. In a message that is a document it may be as long as the body,
 * because a backup has all its sealed secrets in one.
 */
export function createMessageLimits({
  maxValue,
}: Pick<Config, "maxValue">): (desc: DescMethod) => MessageLimits {
  const text = Math.max(2 * maxValue, SHORT_BODY);
  const itemText = Math.max(text, ITEM);
  return memoize(({ input }: DescMethod) => {
    if (holdsItems(input)) return { values: ITEM_VALUES, text: itemText };
    if (input.fields.some(isStruct))
      return {
        values: DOCUMENT_VALUES,
        about: ROWS[input.name] ?? "",
        text: MESSAGE_LIMITS.text,
      };
    if (holdsDocument(input)) return { values: MESSAGE_LIMITS.values, text: itemText };
    return { values: holdsMany(input) ? MANY_VALUES : FEW_VALUES, text };
  });
}

function holdsItems({ fields }: DescMessage): boolean {
  return fields.some(({ name }) => ITEM_FIELDS.has(name));
}

/** Reports whether a message has a field of type google.protobuf.Struct, also in nested messages. */
function holdsDocument(desc: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    (field) =>
      isStruct(field) || (field.message !== undefined && holdsDocument(field.message, seen)),
  );
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
