import { setImmediate as nextTurn } from "node:timers/promises";
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonReadOptions,
  type JsonValue,
  type Message,
  mergeFromJson,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { BadRequest } from "../../transport/body.ts";
import { assignStruct, isStruct, MESSAGE_LIMITS, PER_TURN } from "../../transport/decode.ts";
import { findField } from "./field.ts";
import {
  fitField,
  fitList,
  fitMembers,
  fitMessage,
  holdsNull,
  isJsonObject,
  type JsonRules,
} from "./json-fit.ts";
import type { Tolerance } from "./reading.ts";

/**
 * Converts JSON from readJson to a message; the JSON is changed. A long list or map takes several
 * ticks of the event loop. A google.protobuf.Struct keeps plain JSON.
 *
 * @throws INVALID_ARGUMENT that names the value that does not fit and the expected type.
 */
export function messageFromJson(
  desc: DescMessage,
  json: JsonValue,
  rules: JsonRules,
): Message | Promise<Message> {
  if (hasCustomJsonRepresentation(desc) || !isJsonObject(json)) {
    const root = { json };
    check(fitMessage(desc, root, "json", "", rules));
    return read(() => fromJson(desc, root.json, optionsOf(rules)));
  }
  nameMembers(desc, json, rules.reading.tolerance);
  const structs = Object.entries(json).flatMap(([name, value]) => {
    const field = findField(desc, name);
    return field && isStruct(field) && isJsonObject(value) ? [{ name, value, field }] : [];
  });
  const parts = longParts(desc, json);
  // Duplicates of a field are visible only while both are present; parts are checked below.
  const fitted = { ...json };
  check(fitMembers(desc, fitted, "", rules));
  for (const { name } of structs) delete fitted[name];
  const message = read(() => fromJson(desc, fitted, optionsOf(rules)));
  for (const { field, value } of structs) assignStruct(message, field, value as JsonObject);
  return parts.length === 0 ? message : addParts(message, parts, rules);
}

/**
 * Like messageFromJson for the value of one field, such as a bare array.
 *
 * @throws INVALID_ARGUMENT as messageFromJson.
 */
export function fieldFromJson(
  desc: DescMessage,
  field: DescField,
  json: JsonValue,
  rules: JsonRules,
): Message | Promise<Message> {
  // As the value of a member, null means an absent field; as a whole body it is no message.
  const isMessage = field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message);
  if (json === null && !holdsNull(field) && !isMessage) return create(desc);
  nameInside(field, json, rules.reading.tolerance);
  if (field.fieldKind === "list" && Array.isArray(json) && json.length > LONG)
    return addParts(create(desc), [{ owner: [], at: "", value: json, field }], rules);
  const parts = partsOfField(field, json);
  const body = { [field.jsonName]: json };
  check(fitField(field, body, field.jsonName, "", rules));
  if (!isStruct(field) || !isJsonObject(json)) {
    const message = read(() => fromJson(desc, body, optionsOf(rules)));
    return parts.length === 0 ? message : addParts(message, parts, rules);
  }
  const message = create(desc);
  assignStruct(message, field, json);
  return message;
}

/** Elements of a list or a map that are converted per tick: one is a message of a few values. */
const LONG = PER_TURN / 8;

function optionsOf({ registry, jsonDepth }: JsonRules): Partial<JsonReadOptions> {
  const depth = jsonDepth === undefined ? {} : { recursionLimit: jsonDepth };
  return { ignoreUnknownFields: true, registry, ...depth };
}

/** A long list or map of a message. */
interface LongPart {
  /** The fields from the whole message to its parent. */
  readonly owner: readonly DescField[];
  /** Path for error messages; empty if the list is the whole body. */
  readonly at: string;
  readonly value: JsonValue[] | JsonObject;
  readonly field: DescField;
}

/** Removes the long lists and maps of a message, and of messages in it, from its JSON. */
function longParts(
  desc: DescMessage,
  json: JsonObject,
  { owner = [], at = "" }: Partial<Pick<LongPart, "owner" | "at">> = {},
): LongPart[] {
  return Object.entries(json).flatMap(([name, value]): LongPart[] => {
    const field = findField(desc, name);
    if (field === undefined) return [];
    if (field.fieldKind === "list" && Array.isArray(value) && value.length > LONG) {
      json[name] = [];
      return [{ owner, at: at + name, value, field }];
    }
    if (!isJsonObject(value)) return [];
    const entries = field.fieldKind === "map" ? Object.keys(value).length : 0;
    // Counted as in the binary form: an entry, its key and its value.
    if (3 * entries > MESSAGE_LIMITS.values)
      throw new BadRequest(
        "BODY_INVALID",
        `the body holds more than ${MESSAGE_LIMITS.values} values`,
      );
    if (entries > LONG) {
      json[name] = {};
      return [{ owner, at: at + name, value, field }];
    }
    if (field.fieldKind !== "message" || hasCustomJsonRepresentation(field.message)) return [];
    return longParts(field.message, value, { owner: [...owner, field], at: `${at}${name}.` });
  });
}

/** Like longParts, for the message in a field. */
function partsOfField(field: DescField, json: JsonValue): LongPart[] {
  if (field.fieldKind !== "message" || !isJsonObject(json)) return [];
  return hasCustomJsonRepresentation(field.message)
    ? []
    : longParts(field.message, json, { owner: [field] });
}

async function addParts(
  message: Message,
  parts: readonly LongPart[],
  rules: JsonRules,
): Promise<Message> {
  for (const { owner, at, value, field } of parts) {
    const merge = (part: JsonValue): void => {
      const json = owner.reduceRight((inner, { jsonName }) => ({ [jsonName]: inner }), {
        [field.jsonName]: part,
      } as JsonObject);
      read(() => mergeFromJson(root, message, json, optionsOf(rules)));
    };
    const root = owner[0]?.parent ?? field.parent;
    const keys = Array.isArray(value) ? undefined : Object.keys(value);
    const length = keys?.length ?? (value as JsonValue[]).length;
    for (let start = 0; start < length; start += LONG) {
      const end = start + LONG;
      const part = Array.isArray(value)
        ? value.slice(start, end)
        : Object.fromEntries(
            (keys ?? []).slice(start, end).map((key) => [key, value[key] ?? null]),
          );
      check(
        Array.isArray(part)
          ? fitList(field, part, at, rules, start)
          : fitField(field, { part }, "part", at, rules),
      );
      merge(part);
      await nextTurn();
    }
  }
  return message;
}

/** Everything known was checked; the library's own message must not be sent. */
function read(make: () => Message): Message {
  try {
    return make();
  } catch {
    throw new BadRequest("BODY_INVALID", "body: does not match the request message");
  }
}

function check(problem: string | undefined): void {
  if (problem !== undefined) throw new BadRequest("BODY_INVALID", `body: ${problem}`);
}

/**
 * Renames members that match a field except for case, if none matches exactly, and removes empty
 * text from optional numbers: both as far as tolerated.
 */
function nameMembers(desc: DescMessage, json: JsonObject, tolerance: Tolerance): void {
  const { memberCase = false, emptyNumbers = false } = tolerance;
  if (!memberCase && !emptyNumbers) return;
  for (const name of Object.keys(json)) {
    const exact = findField(desc, name);
    const field = exact ?? (memberCase ? fieldInAnyCase(desc, name) : undefined);
    if (field === undefined) continue;
    const empty = emptyNumbers && isLeftOut(field, json[name]);
    const value = empty ? null : (json[name] as JsonValue);
    if (exact === undefined) {
      if (Object.hasOwn(json, field.name) || Object.hasOwn(json, field.jsonName)) continue;
      delete json[name];
    }
    json[exact === undefined ? field.name : name] = value;
    nameInside(field, value, tolerance);
  }
}

/** Empty text for an optional number, as from an empty form field. */
function isLeftOut(field: DescField, value: JsonValue | undefined): boolean {
  if (value !== "" || field.fieldKind !== "scalar") return false;
  return (
    field.scalar !== ScalarType.STRING &&
    field.scalar !== ScalarType.BYTES &&
    field.presence === FeatureSet_FieldPresence.EXPLICIT
  );
}

function fieldInAnyCase(desc: DescMessage, name: string): DescField | undefined {
  const lower = name.toLowerCase();
  return desc.fields.find(
    (field) => field.name.toLowerCase() === lower || field.jsonName.toLowerCase() === lower,
  );
}

function nameInside({ message }: DescField, value: JsonValue, tolerance: Tolerance): void {
  if (message === undefined || hasCustomJsonRepresentation(message)) return;
  for (const one of Array.isArray(value) ? value : [value])
    if (isJsonObject(one)) nameMembers(message, one, tolerance);
}
