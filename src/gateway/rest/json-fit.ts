import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { isObject } from "../../is-object.ts";
import { findField } from "./field.ts";
import type { Reading } from "./reading.ts";
import {
  describeType,
  enumNumber,
  integerRange,
  isTime,
  largeFloat,
  readJsonInteger,
  readValue,
  type ValueType,
  valueType,
} from "./value.ts";

/** Rules of the JSON reader. */
export interface JsonRules {
  readonly reading: Reading;
  /** Types for google.protobuf.Any, and extensions. */
  readonly registry: Registry;
  /** Maximum nesting of messages; undefined: that of the library. */
  readonly jsonDepth?: number | undefined;
}

/** An object or array that contains the value to check. */
export type Holder = Record<string | number, unknown>;

/**
 * Finds the first value that a message cannot have, and describes its position and type, for
 * instance `[0].value: expected a string, got a number`. The text quotes no value, which may be a
 * secret.
 * The rules are those of protobuf's JSON mapping. Forms that the mapping allows but the library
 * does not read (null members of a oneof, exponents in integers, numbers beyond 2^53) are replaced:
 * the JSON is changed.
 *
 * @param json an object, array or value from readJson; large integers in it are bigints.
 * @param path of the message; empty for the whole.
 * @returns undefined when everything is valid.
 */
export function fitMembers(
  desc: DescMessage,
  json: JsonObject,
  path: string,
  rules: JsonRules,
): string | undefined {
  const seen = new Map<unknown, string>();
  for (const name of Object.keys(json)) {
    const field = findField(desc, name) ?? findExtension(desc, name, rules);
    const at = path === "" ? name : `${path}.${name}`;
    if (field === undefined) {
      const problem = problemOfUnknown(name, desc, rules);
      if (problem === undefined) continue;
      return `${at}: ${problem}`;
    }
    if (json[name] === null && !holdsNull(field)) {
      delete json[name];
      continue;
    }
    const twice = field.oneof ? seen.get(field.oneof) : seen.get(field);
    if (twice !== undefined) return `${at}: can't be given together with ${twice}`;
    seen.set(field, name).set(field.oneof ?? field, name);
    const found = fitField(field, json as Holder, name, at, rules);
    if (found !== undefined) return found;
  }
  return undefined;
}

function problemOfUnknown(
  name: string,
  message: DescMessage,
  { reading: { unknownMembers } }: JsonRules,
): string | undefined {
  if (typeof unknownMembers === "function") return unknownMembers({ name, message });
  return unknownMembers === "refuse" ? "no such member" : undefined;
}

/** The extension that a member such as `[acme.v1.note]` names; its value has the form of a field's. */
function findExtension(
  desc: DescMessage,
  name: string,
  { registry }: JsonRules,
): DescField | undefined {
  const [, typeName] = /^\[(.+)\]$/.exec(name) ?? [];
  const extension = typeName === undefined ? undefined : registry.getExtension(typeName);
  if (extension?.extendee.typeName !== desc.typeName) return undefined;
  return extension as unknown as DescField;
}

/** Like fitMembers, for a message in any JSON form, at `key` of `holder`. */
export function fitMessage(
  desc: DescMessage,
  holder: Holder,
  key: string | number,
  path: string,
  rules: JsonRules,
): string | undefined {
  if (hasCustomJsonRepresentation(desc)) return fitWellKnown(desc, holder, key, path, rules);
  const value = holder[key];
  return isJsonObject(value)
    ? fitMembers(desc, value, path, rules)
    : problem(path, "an object", value);
}

/**
 * Like fitMembers, for a message with its own JSON form ("JSON mapping", the table of well-known
 * types).
 */
function fitWellKnown(
  desc: DescMessage,
  holder: Holder,
  key: string | number,
  path: string,
  rules: JsonRules,
): string | undefined {
  const value = holder[key];
  const type = isWrapperDesc(desc) ? desc.fields[0] && valueType(desc.fields[0]) : undefined;
  if (type) return fitScalar(type, holder, key, path, rules);
  const misfit = (): string => problem(path, `the JSON form of ${desc.typeName}`, value);
  switch (desc.typeName) {
    case "google.protobuf.Struct":
      return isJsonObject(value) ? fitPlain(holder, key, path) : misfit();
    case "google.protobuf.ListValue":
      return Array.isArray(value) ? fitPlain(holder, key, path) : misfit();
    case "google.protobuf.Value":
      return fitPlain(holder, key, path);
    case "google.protobuf.Any":
      return isJsonObject(value) ? fitAny(value, path, rules) : misfit();
    case "google.protobuf.Timestamp":
      return typeof value === "string" && isTime(value) ? undefined : misfit();
    case "google.protobuf.FieldMask":
      if (reads(desc, value)) return undefined;
      return problem(path, "field names in lower camel case, separated by commas", value);
    default:
      return reads(desc, value) ? undefined : misfit();
  }
}

/** Values of google.protobuf.Value: a number is a double there, and finite. */
function fitPlain(holder: Holder, key: string | number, path: string): string | undefined {
  const value = holder[key];
  if (typeof value === "bigint") holder[key] = Number(value);
  if (typeof value === "number" && !Number.isFinite(value))
    return `${path === "" ? "the value" : path}: a number that is too large`;
  if (value === null || typeof value !== "object") return undefined;
  for (const name of Object.keys(value)) {
    const found = fitPlain(value as Holder, name, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fitAny(value: Record<string, JsonValue>, path: string, rules: JsonRules) {
  const { "@type": url, ...members } = value;
  if (url === undefined && Object.keys(members).length === 0) return undefined;
  const name = typeof url === "string" ? url.slice(url.lastIndexOf("/") + 1) : "";
  const desc = rules.registry.getMessage(name);
  const at = path === "" ? "@type" : `${path}.@type`;
  if (desc === undefined) return `${at}: expected the URL of a registered type`;
  if (hasCustomJsonRepresentation(desc)) return fitMessage(desc, value, "value", path, rules);
  const found = fitMembers(desc, members, path, rules);
  for (const member of Object.keys(value)) if (member !== "@type") delete value[member];
  Object.assign(value, members);
  return found;
}

function reads(desc: DescMessage, value: unknown): boolean {
  try {
    fromJson(desc, value as JsonValue);
    return true;
  } catch {
    return false;
  }
}

/**
 * Like fitMembers, for the value of one field: an array for a repeated field, an object for a map.
 */
export function fitField(
  field: DescField,
  holder: Holder,
  key: string | number,
  path: string,
  rules: JsonRules,
): string | undefined {
  if (field.fieldKind === "list") return fitList(field, holder[key], path, rules);
  if (field.fieldKind === "map") return fitMap(field, holder[key], path, rules);
  return fitOne(field, holder, key, path, rules);
}

/**
 * Like fitMembers, for the values of a list.
 *
 * @param first index of the first element in the whole list.
 */
export function fitList(
  field: DescField,
  value: unknown,
  path: string,
  rules: JsonRules,
  first = 0,
): string | undefined {
  if (!Array.isArray(value)) return problem(path, "an array", value);
  for (let index = 0; index < value.length; index++) {
    const at = `${path}[${first + index}]`;
    const found = fitOne(field, value as unknown as Holder, index, at, rules);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fitMap(
  field: DescField & { fieldKind: "map" },
  value: unknown,
  path: string,
  rules: JsonRules,
): string | undefined {
  if (!isJsonObject(value)) return problem(path, "an object", value);
  const keyType = { scalar: field.mapKey, enum: undefined, longAsString: false };
  for (const key of Object.keys(value)) {
    const at = memberPath(path, key);
    if (readValue(keyType, key) === undefined)
      return `${at}: expected ${describeType(keyType)} as the member's name`;
    const found = fitOne(field, value as Holder, key, at, rules);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fitOne(
  field: DescField,
  holder: Holder,
  key: string | number,
  path: string,
  rules: JsonRules,
): string | undefined {
  if (field.message) return fitMessage(field.message, holder, key, path, rules);
  const type = valueType(field);
  return type && fitScalar(type, holder, key, path, rules);
}

/** Like fitMembers, for a scalar or enum value. */
function fitScalar(
  type: ValueType,
  holder: Holder,
  key: string | number,
  path: string,
  rules: JsonRules,
): string | undefined {
  const value = holder[key];
  const fitting = fittingValue(type, value, rules);
  if (fitting === undefined) return problem(path, describeType(type), value, hasKind(type, value));
  if (fitting !== value) holder[key] = fitting;
  return undefined;
}

/** The value in a form that the library reads; undefined when it is invalid. */
function fittingValue(type: ValueType, value: unknown, { reading }: JsonRules): unknown {
  if (type.enum) {
    if (value === null)
      return type.enum.typeName === "google.protobuf.NullValue" ? null : undefined;
    // The library ignores an unknown name.
    const ignored = typeof value === "string" && reading.unknownEnums === "ignore";
    return ignored || fitsEnum(type.enum, value) ? value : undefined;
  }
  if (type.scalar === ScalarType.BOOL) return typeof value === "boolean" ? value : undefined;
  if (type.scalar === ScalarType.STRING || type.scalar === ScalarType.BYTES)
    return typeof value === "string" && readValue(type, value) !== undefined ? value : undefined;
  return integerRange(type.scalar) ? fittingInteger(type, value) : fittingFloat(type, value);
}

function fittingInteger(type: ValueType, value: unknown): unknown {
  const range = integerRange(type.scalar);
  const whole = Number.isSafeInteger(value) ? BigInt(value as number) : readWhole(value);
  if (range === undefined || whole === undefined) return undefined;
  if (whole < range.min || whole > range.max) return undefined;
  if (typeof value === "number") return value;
  return range.wide ? whole.toString() : Number(whole);
}

function readWhole(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  return typeof value === "string" ? readJsonInteger(value) : undefined;
}

function fittingFloat(type: ValueType, value: unknown): unknown {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" && typeof number !== "string") return undefined;
  if (typeof number === "number" && !Number.isFinite(number)) return undefined;
  if (readValue(type, String(number)) === undefined) return undefined;
  return largeFloat(type, number);
}

/** Reports whether the type has any value of this JSON kind. */
function hasKind(type: ValueType, value: unknown): boolean {
  if (type.scalar === ScalarType.BOOL) return false;
  if (typeof value === "string") return true;
  const isText = type.scalar === ScalarType.STRING || type.scalar === ScalarType.BYTES;
  return isNumber(value) && !isText;
}

function fitsEnum(desc: NonNullable<ValueType["enum"]>, value: unknown): boolean {
  if (typeof value === "string")
    return desc.values.some((one) => one.name === value || one.jsonName === value);
  return typeof value === "number" && enumNumber(desc, value) !== undefined;
}

/** Reports whether null is a value of the field, not its absence. */
export function holdsNull(field: DescField): boolean {
  if (field.fieldKind === "message") return field.message.typeName === "google.protobuf.Value";
  return field.fieldKind === "enum" && field.enum.typeName === "google.protobuf.NullValue";
}

function memberPath(path: string, key: string): string {
  const shown = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return `${path}[${JSON.stringify(shown)}]`;
}

/** Sentence with the expected type and the actual one. */
function problem(path: string, expected: string, value: unknown, misfit = false): string {
  const got = `${kindOf(value)}${misfit ? " that doesn't fit" : ""}`;
  return `${path === "" ? "the value" : path}: expected ${expected}, got ${got}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (isNumber(value)) return "a number";
  return typeof value === "boolean" ? "true or false" : `a ${typeof value}`;
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}
