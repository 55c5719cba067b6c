import { isObject } from "../../is-object.ts";
import { jsonErrorText } from "../../json-error.ts";
import { message, type Text } from "../../messages/message.ts";
import { type Format, quoted } from "./format.ts";
import { checkRegex } from "./javascript-regex.ts";

/** Maximum nesting of arrays and objects. */
const MAX_DEPTH = 32;

/** A JSON object with any members. */
export const jsonObject: Format = jsonFormat((value) =>
  isObject(value) ? undefined : message("OBJECT_INVALID", { kind: kindOf(value) }),
);

/**
 * A JSON object of text to text, without an empty name: a replacement of "" would match everywhere.
 */
export const stringMap: Format = jsonFormat((value) => {
  if (!isObject(value)) return message("TEXT_MAP_INVALID", { kind: kindOf(value) });
  for (const [name, member] of Object.entries(value)) {
    if (name === "") return message("TEXT_MAP_EMPTY_NAME");
    if (typeof member !== "string")
      return message("TEXT_MAP_ENTRY_INVALID", { name: quoted(name), kind: kindOf(member) });
  }
  return undefined;
});

/**
 * Viewers for files: a JSON object of extensions (separated by commas, or `/pattern/flags`), each
 * with an object of viewer name and address (docs/rest-contract.md, section 2.5). Empty text: none.
 */
export const previews: Format = jsonFormat(checkPreviews, { allowsEmpty: true });

/** Buckets: a JSON array of objects with text members `name` and `path`. */
export const buckets: Format = jsonFormat((value) => {
  if (!Array.isArray(value)) return message("BUCKETS_INVALID", { kind: kindOf(value) });
  const wrong = value.findIndex((bucket) => !isBucket(bucket));
  return wrong < 0 ? undefined : message("BUCKET_INVALID", { number: wrong + 1 });
});

/**
 * Format of JSON text.
 *
 * @param checkShape returns the problem of a parsed value; undefined: none.
 */
function jsonFormat(
  checkShape: (value: unknown) => Text | undefined,
  { allowsEmpty = false } = {},
): Format {
  return {
    check: (text) => (allowsEmpty && text === "" ? undefined : checkJson(text, checkShape)),
    quotes: true,
  };
}

function checkJson(
  text: string,
  checkShape: (value: unknown) => Text | undefined,
): Text | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return message("JSON_INVALID", { reason: jsonErrorText(text) });
  }
  return isTooDeep(value, MAX_DEPTH) ? message("TOO_DEEP", { most: MAX_DEPTH }) : checkShape(value);
}

function checkPreviews(value: unknown): Text | undefined {
  if (!isObject(value)) return message("PREVIEWS_INVALID", { kind: kindOf(value) });
  for (const [extensions, viewers] of Object.entries(value)) {
    const problem = checkExtensions(extensions) ?? checkViewers(viewers);
    if (problem !== undefined)
      return message("ENTRY_PROBLEM", { name: quoted(extensions), problem });
  }
  return undefined;
}

function checkExtensions(extensions: string): Text | undefined {
  if (extensions === "") return message("EXTENSIONS_MISSING");
  return extensions.startsWith("/") ? checkRegex(extensions) : undefined;
}

function checkViewers(viewers: unknown): Text | undefined {
  if (!isObject(viewers)) return message("VIEWERS_INVALID", { kind: kindOf(viewers) });
  const wrong = Object.entries(viewers).find(
    ([, address]) => typeof address !== "string" || address.trim() === "",
  );
  return wrong && message("VIEWER_INVALID", { name: quoted(wrong[0]), kind: kindOf(wrong[1]) });
}

function isBucket(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, path } = value;
  return typeof name === "string" && typeof path === "string";
}

/** Reports whether a value is nested deeper than `depth` levels. */
function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((part) => isTooDeep(part, depth - 1));
}

/** Kind of a JSON value in words. Blank text is empty text, which some values must not be. */
function kindOf(value: unknown): Text {
  if (value === null) return "null";
  if (Array.isArray(value)) return message("KIND_ARRAY");
  if (typeof value === "object") return message("KIND_OBJECT");
  if (typeof value === "string")
    return message(value.trim() === "" ? "KIND_EMPTY_TEXT" : "KIND_TEXT");
  return message(typeof value === "number" ? "KIND_NUMBER" : "KIND_BOOLEAN");
}
