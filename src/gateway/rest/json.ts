import type { JsonValue } from "@bufbuild/protobuf";
import { jsonErrorText, jsonPositionText } from "../../json-error.ts";
import { unpairedSurrogate } from "../../json-surrogate.ts";
import { BadRequest, type MessageLimits } from "../../transport/body.ts";
import { MAX_DEPTH, MESSAGE_LIMITS, textTooLong, tooManyValues } from "../../transport/decode.ts";
import type { RequestForm } from "../settings.ts";
import { readJsonInteger } from "./value.ts";

/**
 * Reads a JSON document from the bytes of a body. An integer beyond 2^53 keeps its digits, as a bigint.
 *
 * @param options.digits false: such an integer becomes the nearest number. Default: true.
 * @param options.limits default: MESSAGE_LIMITS.
 * @param options.depth maximum number of levels of arrays and objects. Default: MAX_DEPTH.
 * @throws INVALID_ARGUMENT that says where the text is not UTF-8 or not JSON or has an unpaired
 * surrogate, or that it is beyond the limits or the depth.
 */
export function readJson(
  bytes: Uint8Array,
  {
    digits = true,
    limits = MESSAGE_LIMITS,
    depth = MAX_DEPTH,
  }: {
    readonly digits?: boolean;
    readonly limits?: MessageLimits;
    readonly depth?: number;
  } = {},
): JsonValue {
  checkShape(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits, depth);
  const text = decodeUtf8(bytes);
  const unpaired = unpairedSurrogate(text);
  if (unpaired !== undefined)
    refuse(`has an unpaired surrogate (${jsonPositionText(text, unpaired)})`);
  try {
    if (!digits || !LARGE.test(text)) return JSON.parse(text) as JsonValue;
    // TypeScript's types lack the third argument of a reviver.
    return JSON.parse(text, keepDigits as Parameters<typeof JSON.parse>[1]) as JsonValue;
  } catch {
    throw new BadRequest("BODY_INVALID", `the body is not JSON: ${jsonErrorText(text)}`);
  }
}

/**
 * Matches numbers that may be beyond 2^53: a reviver takes several times as long as the parser
 * alone.
 */
const LARGE = /\d{16}|\d[eE]/;
const LARGEST = 2n ** 64n;

/** Like readJson, with the options of a method. */
export function readRequestJson(
  bytes: Uint8Array,
  { reading, limits, jsonDepth }: RequestForm,
): JsonValue {
  return readJson(bytes, {
    digits: reading.largeIntegers === "take",
    limits,
    // A message is an object, in a list or map of its parent.
    ...(jsonDepth === undefined ? {} : { depth: 2 * jsonDepth + 2 }),
  });
}

function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined)
    return value;
  const whole = readJsonInteger(source);
  return whole === undefined || whole > LARGEST || whole < -LARGEST ? value : whole;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BadRequest("BODY_INVALID", "the body is not UTF-8 text");
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const COMMA = 0x2c;

/** Checks levels, values and lengths of a JSON text before it is parsed. */
function checkShape(bytes: Buffer, limits: MessageLimits, maxDepth: number): void {
  let depth = 0;
  // One value more than commas, except at the beginning of arrays and objects.
  let values = 1;
  for (let index = 0; index < bytes.length; index++) {
    // Bytes of a character beyond ASCII are none of these.
    const char = bytes[index] ?? 0;
    if (char === QUOTE) {
      const end = endOfString(bytes, index);
      if (end - index > limits.text && shortestText(bytes, index, end) > limits.text)
        throw textTooLong("body", limits);
      index = end;
    } else if (char === COMMA) values++;
    else {
      const step = nesting(char);
      if (step > 0) values++;
      depth += step;
      if (depth > maxDepth) refuse(`is nested deeper than ${maxDepth} levels`);
    }
    if (values > limits.values) throw tooManyValues("body", limits);
  }
}

/** End of the string that begins at a quote; the text's end if it has no other quote. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = start; ; ) {
    end = bytes.indexOf(QUOTE, end + 1);
    if (end < 0) return bytes.length;
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** Bytes of a string between its quotes, if each escape stood for as little as it can. */
function shortestText(bytes: Buffer, start: number, end: number): number {
  let escapes = 0;
  for (let at = bytes.indexOf(BACKSLASH, start); at >= 0 && at < end; escapes++)
    at = bytes.indexOf(BACKSLASH, at + 2);
  // The longest escape is \u and four digits, for a character of one byte.
  return end - start - 1 - 5 * escapes;
}

function refuse(reason: string): never {
  throw new BadRequest("BODY_INVALID", `the body ${reason}`);
}

function nesting(char: number): number {
  // [ and { differ in one bit, and so do ] and }.
  const folded = char & ~0x20;
  if (folded === 0x5b) return 1;
  return folded === 0x5d ? -1 : 0;
}
