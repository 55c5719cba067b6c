import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { findField } from "./field.ts";
import {
  describeType,
  enumNumber,
  integerRange,
  readValue,
  type ValueType,
  valueType,
} from "./value.ts";

/**
 * Looks for the first value in a JSON document that a message can't hold, and says where it is and
 * what was expected, for instance `[0].value: expected a string, got a number`. The words name no
 * value: it may be a secret. Members that the message doesn't know are not looked at.
 *
 * The rules are those of protobuf's JSON mapping: integers and floats may come as strings, `null`
 * means absent, members have their proto name or their JSON name.
 *
 * @returns undefined when there is nothing to say.
 */
export function findMessageProblem(
  desc: DescMessage,
  value: JsonValue,
  path: string,
): string | undefined {
  if (desc.typeName === "google.protobuf.Struct" && isObject(value)) return undefined;
  if (hasCustomJsonRepresentation(desc)) return findWellKnownProblem(desc, value, path);
  if (!isObject(value)) return problem(path, "an object", value);
  const seen = new Map<unknown, string>();
  for (const [name, member] of Object.entries(value)) {
    const field = findField(desc, name);
    if (field === undefined) continue;
    const at = path === "" ? name : `${path}.${name}`;
    const twice = field.oneof ? seen.get(field.oneof) : seen.get(field);
    if (twice !== undefined) return `${at}: can't be given together with ${twice}`;
    seen.set(field, name).set(field.oneof ?? field, name);
    const found = findFieldProblem(field, member, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The same for the value of one field: an array for a repeated field, an object for a map. */
/** Likewise for the value of one field. */
export function findFieldProblem(
  field: DescField,
  value: JsonValue,
  path: string,
): string | undefined {
  if (value === null && !holdsNull(field)) return undefined;
  if (field.fieldKind === "list") return findListProblem(field, value, path);
  if (field.fieldKind === "map") return findMapProblem(field, value, path);
  return findValueProblem(field, value, path);
}

/** @param first the index of the first element in the whole list. */
/** Likewise for the values of a list. */
export function findListProblem(
  field: DescField,
  value: JsonValue,
  path: string,
  first = 0,
): string | undefined {
  if (!Array.isArray(value)) return problem(path, "an array", value);
  for (const [index, element] of value.entries()) {
    const found = findValueProblem(field, element, `${path}[${first + index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findMapProblem(
  field: DescField & { fieldKind: "map" },
  value: JsonValue,
  path: string,
): string | undefined {
  if (!isObject(value)) return problem(path, "an object", value);
  const keyType = { scalar: field.mapKey, enum: undefined, longAsString: false };
  for (const [key, member] of Object.entries(value)) {
    const at = memberPath(path, key);
    if (readValue(keyType, key) === undefined) {
      return `${at}: expected ${describeType(keyType)} as the member's name`;
    }
    const found = findValueProblem(field, member, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findValueProblem(field: DescField, value: JsonValue, path: string): string | undefined {
  if (field.message) return findMessageProblem(field.message, value, path);
  const type = valueType(field);
  if (type === undefined || fitsValue(type, value)) return undefined;
  return problem(path, describeType(type), value, acceptsKind(type, value));
}

function fitsValue(type: ValueType, value: JsonValue): boolean {
  if (type.enum) return fitsEnum(type.enum, value);
  if (type.scalar === ScalarType.BOOL) return typeof value === "boolean";
  if (typeof value === "string") return readValue(type, value) !== undefined;
  if (typeof value !== "number" || !acceptsKind(type, value)) return false;
  // Beyond 2^53 a JSON number has already lost digits: such an integer must come as a string.
  if (integerRange(type.scalar)) {
    return Number.isSafeInteger(value) && readValue(type, value.toString()) !== undefined;
  }
  return Number.isFinite(value) && readValue(type, value.toString()) !== undefined;
}

/** Whether some value of this JSON kind fits the type, so that only this one doesn't. */
function acceptsKind(type: ValueType, value: JsonValue): boolean {
  if (type.scalar === ScalarType.BOOL) return false;
  if (typeof value === "string") return true;
  const isText = type.scalar === ScalarType.STRING || type.scalar === ScalarType.BYTES;
  return typeof value === "number" && !isText;
}

function fitsEnum(desc: NonNullable<ValueType["enum"]>, value: JsonValue): boolean {
  if (desc.typeName === "google.protobuf.NullValue" && value === null) return true;
  if (typeof value === "string") {
    return desc.values.some((one) => one.name === value || one.jsonName === value);
  }
  return typeof value === "number" && enumNumber(desc, value) !== undefined;
}

function findWellKnownProblem(
  desc: DescMessage,
  value: JsonValue,
  path: string,
): string | undefined {
  try {
    fromJson(desc, value);
    return undefined;
  } catch {
    return problem(path, `the JSON form of ${desc.typeName}`, value);
  }
}

function holdsNull(field: DescField): boolean {
  if (field.fieldKind === "message") return field.message.typeName === "google.protobuf.Value";
  return field.fieldKind === "enum" && field.enum.typeName === "google.protobuf.NullValue";
}

function memberPath(path: string, key: string): string {
  const shown = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return `${path}[${JSON.stringify(shown)}]`;
}

function problem(path: string, expected: string, value: JsonValue, misfit = false): string {
  const got = `${kindOf(value)}${misfit ? " that doesn't fit" : ""}`;
  return `${path === "" ? "the value" : path}: expected ${expected}, got ${got}`;
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "boolean" ? "true or false" : `a ${typeof value}`;
}

export function isObject(value: JsonValue): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
