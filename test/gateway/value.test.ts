import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  BoolValueSchema,
  DurationSchema,
  FieldMaskSchema,
  Int64ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  createTextReader,
  describeType,
  enumNumber,
  integerRange,
  isTime,
  largeFloat,
  readJsonInteger,
  readValue,
  type ValueType,
  valueType,
} from "../../src/gateway/rest/value.ts";
import { defineRpc } from "./contract.ts";

/** @param longAsString whether 64-bit integers are read as text. */
const typeOf = (scalar: ScalarType, longAsString = false): ValueType => ({
  scalar,
  enum: undefined,
  longAsString,
});
const { fields } = defineRpc({}).input;
const field = (name: string): DescField => fields.find((one) => one.name === name) as DescField;
const color = field("color").enum as DescEnum;

const INT32 = [ScalarType.INT32, ScalarType.SINT32, ScalarType.SFIXED32];
const UINT32 = [ScalarType.UINT32, ScalarType.FIXED32];
const INT64 = [ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64];
const UINT64 = [ScalarType.UINT64, ScalarType.FIXED64];

describe("integers", () => {
  const kinds: readonly [readonly ScalarType[], string, string, boolean][] = [
    [INT32, "-2147483648", "2147483647", false],
    [UINT32, "0", "4294967295", false],
    [INT64, "-9223372036854775808", "9223372036854775807", true],
    [UINT64, "0", "18446744073709551615", true],
  ];
  test.each(
    kinds.flatMap(([scalars, ...bounds]) =>
      scalars.map((scalar) => [ScalarType[scalar], ...bounds, scalar] as const),
    ),
  )("of type %s are from %s to %s", (_, min, max, wide, scalar) => {
    expect(integerRange(scalar)).toEqual({ min: BigInt(min), max: BigInt(max), wide });
    const read = (text: string, asText = false) => readValue(typeOf(scalar, asText), text);
    for (const text of [min, max]) {
      expect(read(text)).toBe(wide ? BigInt(text) : Number(text));
      expect(read(text, true)).toBe(wide ? text : Number(text));
    }
    expect(read(`${BigInt(min) - 1n}`)).toBeUndefined();
    expect(read(`${BigInt(max) + 1n}`)).toBeUndefined();
    expect(read("007")).toBe(wide ? 7n : 7);
    for (const wrong of ["", "-", "1.0", "1e3", "+1", " 1", "0x1", "1".repeat(21)])
      expect(read(wrong)).toBeUndefined();
    expect(describeType(typeOf(scalar))).toBe(`a whole number from ${min} to ${max}`);
  });

  test("other types have no range", () => {
    for (const scalar of [undefined, ScalarType.STRING, ScalarType.DOUBLE, ScalarType.BOOL])
      expect(integerRange(scalar)).toBeUndefined();
  });
});

describe("scalars", () => {
  test.each<[keyof typeof ScalarType, string, unknown]>([
    ["BOOL", "true", true],
    ["BOOL", "false", false],
    ["BOOL", "1", undefined],
    ["STRING", "", ""],
    ["STRING", "ä", "ä"],
    ["STRING", "\ud800", undefined],
    ["DOUBLE", "1.5", 1.5],
    ["DOUBLE", "-.5E-1", -0.05],
    ["DOUBLE", "1.", 1],
    ["DOUBLE", "NaN", Number.NaN],
    ["DOUBLE", "-Infinity", Number.NEGATIVE_INFINITY],
    ["DOUBLE", "1e39", 1e39],
    ["DOUBLE", "1e999", undefined],
    ["DOUBLE", "", undefined],
    ["DOUBLE", "1_0", undefined],
    ["FLOAT", "0.1", 0.1],
    ["FLOAT", "3.4028234663852886e38", 3.4028234663852886e38],
    ["FLOAT", "3.4028235e38", 3.4028234663852886e38],
    ["FLOAT", "-3.4028235e38", -3.4028234663852886e38],
    ["FLOAT", "3.5e38", undefined],
  ])("%s: %j is %j", (type, text, expected) => {
    expect(readValue(typeOf(ScalarType[type]), text)).toEqual(expected);
  });

  test.each(["YQ==", "YQ", "_-8=", "/+8"])("BYTES: %s is base64", (text) => {
    expect(readValue(typeOf(ScalarType.BYTES), text)).toEqual(
      new Uint8Array(Buffer.from(text, "base64")),
    );
  });

  test("BYTES: other texts are invalid", () => {
    for (const wrong of ["Y", "Y Q==", "YQ===", "=YQ", "ä"])
      expect(readValue(typeOf(ScalarType.BYTES), wrong)).toBeUndefined();
  });

  test("have a description for messages", () => {
    expect(
      [ScalarType.BOOL, ScalarType.BYTES, ScalarType.STRING, ScalarType.FLOAT].map((scalar) =>
        describeType(typeOf(scalar)),
      ),
    ).toEqual(["true or false", "bytes in base64", "a string", "a number"]);
  });
});

describe("enums", () => {
  test("are accepted by name, or by any 32-bit number", () => {
    expect(enumNumber(color, "COLOR_RED")).toBe(1);
    for (const given of [1, "1", 7, "-7", 2_147_483_647])
      expect(enumNumber(color, given)).toBe(Number(given));
    for (const wrong of ["RED", "", "1.0", "+1", 1.5, 2_147_483_648, "2147483648", "00000000001"])
      expect(enumNumber(color, wrong)).toBeUndefined();
    expect(readValue({ ...typeOf(ScalarType.INT32), enum: color }, "COLOR_RED")).toBe(1);
  });

  test("that are closed have no other numbers, and their own names in JSON", () => {
    const values = [{ name: "RED", jsonName: "red", number: 1 }];
    const closed = { open: false, values, value: { 1: values[0] } } as unknown as DescEnum;
    expect(["RED", "red", 1, "1", 0, 2].map((given) => enumNumber(closed, given))).toEqual([
      1,
      1,
      1,
      1,
      undefined,
      undefined,
    ]);
  });

  test("are described by at most twenty names", () => {
    const of = (count: number) => {
      const values = Array.from({ length: count }, (_, at) => ({ name: `N${at}` }));
      return describeType({ ...typeOf(ScalarType.INT32), enum: { values } as never });
    };
    expect(of(2)).toBe("one of N0, N1");
    expect(of(20)).toMatch(/, N19$/);
    expect(of(21)).toMatch(/, N19, …$/);
  });
});

describe("the type of a field", () => {
  test("is that of a single value, and undefined for messages", () => {
    expect(valueType(field("text"))).toEqual(typeOf(ScalarType.STRING));
    expect(valueType(field("numbers"))).toEqual(typeOf(ScalarType.INT32));
    expect(valueType(field("color"))).toEqual({
      scalar: undefined,
      enum: color,
      longAsString: false,
    });
    expect(valueType(field("part"))).toBeUndefined();
    const asText = { ...field("big"), scalar: ScalarType.INT64, longAsString: true } as never;
    expect(valueType(asText)).toEqual(typeOf(ScalarType.INT64, true));
  });

  test("has a reader if text can set it", () => {
    const reader = (name: string) => createTextReader(field(name));
    expect(reader("small")?.read("7")).toBe(7);
    expect(reader("small")?.expected).toMatch(/^a whole number/);
    expect(reader("part")).toBeUndefined();
    expect(reader("info")).toBeUndefined();
  });

  test("has a reader for times and wrapped values", () => {
    const at = createTextReader(field("at"));
    expect(at?.expected).toBe("a time such as 2026-01-31T08:00:00Z");
    expect(at?.read("2026-01-31T08:00:00Z")).toMatchObject({ seconds: 1_769_846_400n });
    expect(at?.read("2026-02-30T08:00:00Z")).toBeUndefined();
    const note = createTextReader(field("note"));
    expect(note?.expected).toBe("a string");
    expect(note?.read("x")).toMatchObject({ value: "x" });
    expect(note?.read("\ud800")).toBeUndefined();
  });

  test.each([
    ["google.protobuf.Duration", DurationSchema, "a duration in seconds such as 1.5s", "1.5s"],
    ["google.protobuf.FieldMask", FieldMaskSchema, "field names separated by commas", "a,b"],
    ["google.protobuf.BoolValue", BoolValueSchema, "true or false", "true"],
    ["google.protobuf.BoolValue", BoolValueSchema, "true or false", "false"],
    ["google.protobuf.Int64Value", Int64ValueSchema, "a whole number", "-7"],
  ])("has a reader for %s", (_, message, expected, text) => {
    const reader = createTextReader({ fieldKind: "message", message } as unknown as DescField);
    expect(reader?.expected).toMatch(expected);
    const json = ["true", "false"].includes(text) ? text === "true" : text;
    expect(reader?.read(text)).toEqual(fromJson(message as DescMessage, json));
    expect(reader?.read("a-b")).toBeUndefined();
  });
});

describe("integers in JSON: undefined stands for an invalid text", () => {
  test.each<[string, bigint | undefined]>([
    ["0", 0n],
    ["-0", 0n],
    ["12", 12n],
    ["-9223372036854775808", -9_223_372_036_854_775_808n],
    ["1.0", 1n],
    ["1.50e1", 15n],
    ["-1.5e1", -15n],
    ["1e3", 1_000n],
    ["1E+3", 1_000n],
    ["100e-2", 1n],
    ["0.0", 0n],
    ["0e99", 0n],
    ["0e-99", 0n],
    ["1e40", 10n ** 40n],
    ["1e41", undefined],
    ["1.5", undefined],
    ["1e-1", undefined],
    ["01", undefined],
    ["+1", undefined],
    [".5", undefined],
    ["1.", undefined],
    ["x", undefined],
  ])("%s is %s", (text, expected) => {
    expect(readJsonInteger(text)).toBe(expected);
  });
});

test("a number that rounds to the largest float becomes it, and other numbers are unchanged", () => {
  const largest = 3.4028234663852886e38;
  const float = typeOf(ScalarType.FLOAT);
  expect(largeFloat(float, 3.4028235e38)).toBe(largest);
  expect(largeFloat(float, "-3.4028235e38")).toBe(-largest);
  expect(largeFloat(float, largest)).toBe(largest);
  expect(largeFloat(float, 0.1)).toBe(0.1);
  expect(largeFloat(float, "0.1")).toBe("0.1");
  expect(largeFloat(float, 1e39)).toBe(1e39);
  expect(largeFloat(float, "x")).toBe("x");
  expect(largeFloat(typeOf(ScalarType.DOUBLE), 3.4028235e38)).toBe(3.4028235e38);
});

describe("times of RFC 3339", () => {
  test.each([
    "2026-01-31T08:00:00Z",
    "2026-01-01T00:00:00.123456789Z",
    "2026-12-31T23:59:59+23:59",
    "2026-06-15T12:30:30-01:30",
    "2024-02-29T00:00:00Z",
    "2000-02-29T00:00:00Z",
    "0001-01-01T00:00:00Z",
  ])("%s is accepted", (text) => {
    expect(isTime(text)).toBe(true);
  });

  test.each([
    "",
    "2026-01-31",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+00:60",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00.1234567890Z",
  ])("%s is refused", (text) => {
    expect(isTime(text)).toBe(false);
  });
});
