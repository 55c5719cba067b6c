import {
  type DescField,
  type DescMessage,
  fromJson,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { describeType, enumNumber, integerRange, type ValueType, valueType } from "./value-type.ts";

/** Reads one value from the text of a query parameter or of a path variable. */
export interface TextReader {
  /** What a good value looks like, for messages. */
  readonly expected: string;
  /** The value as protobuf-es keeps it; undefined when the text is no such value. */
  read(text: string): unknown;
}

/**
 * The reader for a field, or for the elements of a repeated field. Undefined for fields that no
 * text can fill: maps, lists of messages, and messages without a text form of their own.
 */
export function createTextReader(field: DescField): TextReader | undefined {
  if (field.fieldKind === "map") return undefined;
  const type = valueType(field);
  if (type) return { expected: describeType(type), read: (text) => readValue(type, text) };
  return field.fieldKind === "message" ? createMessageReader(field.message) : undefined;
}

/** Reads a scalar or enum value from its text. */
export function readValue(type: ValueType, text: string): unknown {
  if (type.enum) return enumNumber(type.enum, text);
  const range = integerRange(type.scalar);
  if (range) return readInteger(text, range.min, range.max, range.wide, type.longAsString);
  if (type.scalar === ScalarType.BOOL) return BOOLEANS.get(text);
  if (type.scalar === ScalarType.BYTES) return readBase64(text);
  if (type.scalar === ScalarType.STRING) return text.isWellFormed() ? text : undefined;
  return readFloat(text, type.scalar === ScalarType.FLOAT);
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

function readInteger(
  text: string,
  min: bigint,
  max: bigint,
  wide: boolean,
  asText: boolean,
): bigint | number | string | undefined {
  if (!/^-?\d{1,20}$/.test(text)) return undefined;
  const value = BigInt(text);
  if (value < min || value > max) return undefined;
  if (!wide) return Number(value);
  return asText ? value.toString() : value;
}

const LARGEST_FLOAT = 3.4028234663852886e38;

function readFloat(text: string, single: boolean): number | undefined {
  if (/^(?:NaN|-?Infinity)$/.test(text)) return Number(text);
  if (!/^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  return Math.abs(value) <= (single ? LARGEST_FLOAT : Number.MAX_VALUE) ? value : undefined;
}

function readBase64(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  try {
    return base64Decode(text);
  } catch {
    return undefined;
  }
}

/** Well-known messages whose JSON is a string, as google/api/http.proto allows them in a query. */
const TEXT_MESSAGES: ReadonlyMap<string, string> = new Map([
  ["google.protobuf.Timestamp", "a time such as 2026-01-31T08:00:00Z"],
  ["google.protobuf.Duration", "a duration in seconds such as 1.5s"],
  ["google.protobuf.FieldMask", "field names separated by commas"],
]);

function createMessageReader(desc: DescMessage): TextReader | undefined {
  if (isWrapperDesc(desc)) return createWrapperReader(desc);
  const expected = TEXT_MESSAGES.get(desc.typeName);
  if (expected === undefined) return undefined;
  return { expected, read: (text) => readMessage(desc, text) };
}

function createWrapperReader(desc: DescMessage): TextReader | undefined {
  const field = desc.fields[0];
  const type = field && valueType(field);
  if (!type) return undefined;
  return {
    expected: describeType(type),
    read: (text) => {
      if (readValue(type, text) === undefined) return undefined;
      return readMessage(desc, type.scalar === ScalarType.BOOL ? text === "true" : text);
    },
  };
}

function readMessage(desc: DescMessage, json: string | boolean): Message | undefined {
  try {
    return fromJson(desc, json);
  } catch {
    return undefined;
  }
}
