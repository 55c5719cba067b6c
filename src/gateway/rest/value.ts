import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import {
  FeatureSet_FieldPresence,
  FieldMaskSchema,
  isWrapperDesc,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt";

/**
 * The type of a single value: of a singular field, a list's element or a map's value. Not for
 * message types.
 */
export interface ValueType {
  readonly scalar: ScalarType | undefined;
  readonly enum: DescEnum | undefined;
  /** 64-bit integers are kept as text (`jstype = JS_STRING`). */
  readonly longAsString: boolean;
}

/** The value type of a field, list element or map value; undefined for messages. */
export function valueType(field: DescField): ValueType | undefined {
  if (field.scalar === undefined && field.enum === undefined) return undefined;
  const longAsString = "longAsString" in field && field.longAsString === true;
  return { scalar: field.scalar, enum: field.enum, longAsString };
}

/** Bounds of a protobuf integer type; undefined for other types. */
export function integerRange(scalar: ScalarType | undefined): IntegerRange | undefined {
  return scalar === undefined ? undefined : INTEGER_RANGES[scalar];
}

/** Smallest and largest value of an integer type. */
export interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
  /** Kept as a bigint (64 bits) or as a number (32 bits). */
  readonly wide: boolean;
}

/** Description of a value of the type, for messages: "a string", "true or false". */
export function describeType(type: ValueType): string {
  if (type.enum) return describeEnum(type.enum);
  const range = integerRange(type.scalar);
  if (range) return `a whole number from ${range.min} to ${range.max}`;
  if (type.scalar === ScalarType.BOOL) return "true or false";
  if (type.scalar === ScalarType.BYTES) return "bytes in base64";
  return type.scalar === ScalarType.STRING ? "a string" : "a number";
}

/** Number of an enum value given by name, or by number if the enum has it or is open. */
export function enumNumber(desc: DescEnum, value: string | number): number | undefined {
  const named = desc.values.find((one) => one.name === value || one.jsonName === value);
  if (named) return named.number;
  const number = typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || (number | 0) !== number) return undefined;
  return desc.open || desc.value[number] ? number : undefined;
}

/** Maximum number of enum names in a message. */
const SHOWN_NAMES = 20;

function describeEnum(desc: DescEnum): string {
  const names = desc.values.slice(0, SHOWN_NAMES).map((value) => value.name);
  return `one of ${names.join(", ")}${desc.values.length > SHOWN_NAMES ? ", …" : ""}`;
}

const INT32: IntegerRange = { min: -(2n ** 31n), max: 2n ** 31n - 1n, wide: false };
const UINT32: IntegerRange = { min: 0n, max: 2n ** 32n - 1n, wide: false };
const INT64: IntegerRange = { min: -(2n ** 63n), max: 2n ** 63n - 1n, wide: true };
const UINT64: IntegerRange = { min: 0n, max: 2n ** 64n - 1n, wide: true };

const INTEGER_RANGES: Partial<Record<ScalarType, IntegerRange>> = {
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.INT64]: INT64,
  [ScalarType.SINT64]: INT64,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.FIXED64]: UINT64,
};

/** Reads one value from the text of a query parameter or of a path variable. */
export interface TextReader {
  /** Description of a valid value, for messages. */
  readonly expected: string;
  /** A boolean, which is true when only its name is given. */
  readonly isFlag: boolean;
  /** Whether empty text is the same as an absent value: a text without presence. */
  readonly emptyIsAbsent: boolean;
  /** The value in the form of protobuf-es; undefined when the text is invalid. */
  read(text: string): unknown;
}

/**
 * The reader for a field, for the elements of a repeated field or for the values of a map.
 * Undefined for messages without a text form.
 */
export function createTextReader(field: DescField): TextReader | undefined {
  const type = valueType(field);
  if (type) {
    const emptyIsAbsent = isText(type) && field.presence === FeatureSet_FieldPresence.IMPLICIT;
    return { ...readerOf(type), emptyIsAbsent, read: (text) => readValue(type, text) };
  }
  return field.message && createMessageReader(field.message);
}

function readerOf(type: ValueType): Pick<TextReader, "expected" | "isFlag"> {
  return { expected: describeType(type), isFlag: type.scalar === ScalarType.BOOL };
}

function isText({ scalar }: ValueType): boolean {
  return scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
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

/**
 * Integer value of a JSON number's text, also with an exponent or a zero fraction ("JSON mapping",
 * int32 and int64). Undefined for any other text and beyond 10^40.
 */
export function readJsonInteger(text: string): bigint | undefined {
  if (/^-?(?:0|[1-9]\d{0,19})$/.test(text)) return BigInt(text);
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(0|[1-9]\d{0,39})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole + fraction).replace(/0+$/, "");
  // Number of zeros after the digits; negative: digits after the point.
  const zeros = whole.length + Number(exponent) - digits.length;
  if (/^0*$/.test(digits)) return 0n;
  if (zeros < 0 || zeros > 40) return undefined;
  return BigInt(`${sign}${digits}${"0".repeat(zeros)}`);
}

const LARGEST_FLOAT = 3.4028234663852886e38;

/** A number of a type; one that rounds to the largest float becomes the largest float. */
export function largeFloat({ scalar }: ValueType, value: number | string): number | string {
  if (scalar !== ScalarType.FLOAT || !(Math.abs(Number(value)) > LARGEST_FLOAT)) return value;
  const float = Math.fround(Number(value));
  return Number.isFinite(float) ? float : value;
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/;

/** Reports whether a text is a valid time of RFC 3339, section 5.6. */
export function isTime(text: string): boolean {
  const [, year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour, zoneMinute] =
    TIME.exec(text)?.map(Number) ?? [];
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > days) return false;
  if (hour > 23 || minute > 59 || second > 59) return false;
  return !(Number(zoneHour) > 23 || Number(zoneMinute) > 59);
}

function readFloat(text: string, single: boolean): number | undefined {
  if (/^(?:NaN|-?Infinity)$/.test(text)) return Number(text);
  if (!/^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const value = Number(text);
  const kept = single && Math.abs(value) > LARGEST_FLOAT ? Math.fround(value) : value;
  return Number.isFinite(kept) ? kept : undefined;
}

function readBase64(text: string): Uint8Array | undefined {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  try {
    return base64Decode(text);
  } catch {
    return undefined;
  }
}

/** Well-known messages whose JSON is a string, which google/api/http.proto allows in a query. */
const TEXT_MESSAGES: ReadonlyMap<string, string> = new Map([
  ["google.protobuf.Timestamp", "a time such as 2026-01-31T08:00:00Z"],
  ["google.protobuf.Duration", "a duration in seconds such as 1.5s"],
  ["google.protobuf.FieldMask", "field names separated by commas"],
]);

function createMessageReader(desc: DescMessage): TextReader | undefined {
  if (isWrapperDesc(desc)) return createWrapperReader(desc);
  const expected = TEXT_MESSAGES.get(desc.typeName);
  if (expected === undefined) return undefined;
  const read = (text: string): Message | undefined => {
    if (desc.typeName === FieldMaskSchema.typeName) return readMask(text);
    if (desc.typeName === TimestampSchema.typeName && !isTime(text)) return undefined;
    return readMessage(desc, text);
  };
  return { expected, isFlag: false, emptyIsAbsent: false, read };
}

/** A mask of names in lower camel case (JSON mapping, FieldMask), or as in the proto files. */
function readMask(text: string): Message | undefined {
  const names = text === "" ? [] : text.split(",");
  if (!names.every((name) => /^[a-z_]\w*(?:\.[a-z_]\w*)*$/.test(name))) return undefined;
  const paths = names.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  return create(FieldMaskSchema, { paths });
}

function createWrapperReader(desc: DescMessage): TextReader | undefined {
  const field = desc.fields[0];
  const type = field && valueType(field);
  if (!type) return undefined;
  return {
    ...readerOf(type),
    emptyIsAbsent: false,
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
