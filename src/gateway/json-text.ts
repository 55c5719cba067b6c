import type { JsonValue } from "@bufbuild/protobuf";
import { badRequest } from "./fault.ts";
import { findJsonError } from "./json-error.ts";

/** Deepest nesting of arrays and objects in a body. */
export const MAX_JSON_DEPTH = 64;

/** Most values in a body: small ones take more time than their bytes tell. */
export const MAX_JSON_VALUES = 30_000;

/**
 * Reads a JSON document from the bytes of a body.
 *
 * @throws INVALID_ARGUMENT that says where the text is not UTF-8 or not JSON, or that it has
 * more than MAX_JSON_DEPTH levels or MAX_JSON_VALUES values.
 */
export function readJson(bytes: Uint8Array): JsonValue {
  const text = decodeUtf8(bytes);
  checkShape(text);
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw badRequest(`the body is not JSON: ${findJsonError(text)}`);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("the body is not UTF-8 text");
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const COMMA = 0x2c;

/** Counts levels and commas before anything is made of the text. */
function checkShape(text: string): void {
  let depth = 0;
  let commas = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const char = text.charCodeAt(index);
    if (quoted) {
      if (char === BACKSLASH) index++;
      else if (char === QUOTE) quoted = false;
    } else if (char === QUOTE) {
      quoted = true;
    } else if (char === COMMA) {
      commas++;
    } else {
      depth += nesting(char);
      if (depth > MAX_JSON_DEPTH) refuse(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
    }
  }
  if (commas >= MAX_JSON_VALUES) refuse(`holds more than ${MAX_JSON_VALUES} values`);
}

function refuse(reason: string): never {
  throw badRequest(`the body ${reason}`);
}

function nesting(char: number): number {
  // [ and { differ in one bit, and so do ] and }.
  const folded = char & ~0x20;
  if (folded === 0x5b) return 1;
  return folded === 0x5d ? -1 : 0;
}
