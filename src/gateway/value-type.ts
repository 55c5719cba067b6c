import { type DescEnum, type DescField, ScalarType } from "@bufbuild/protobuf";

/**
 * The type of one value: of a singular field, of a list's element or of a map's value. Message
 * types are none of these.
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

/** What a value of the type looks like, in words for people: "a string", "true or false". */
export function describeType(type: ValueType): string {
  if (type.enum) return describeEnum(type.enum);
  const range = integerRange(type.scalar);
  if (range) return `a whole number from ${range.min} to ${range.max}`;
  if (type.scalar === ScalarType.BOOL) return "true or false";
  if (type.scalar === ScalarType.BYTES) return "bytes in base64";
  return type.scalar === ScalarType.STRING ? "a string" : "a number";
}

/** Number of an enum value given by name or, where the enum has it or is open, by number. */
export function enumNumber(desc: DescEnum, value: string | number): number | undefined {
  const named = desc.values.find((one) => one.name === value || one.jsonName === value);
  if (named) return named.number;
  const number = typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || (number | 0) !== number) return undefined;
  return desc.open || desc.value[number] ? number : undefined;
}

/** Longest list of enum names in a message. */
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
