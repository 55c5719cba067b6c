import { setImmediate as nextTurn } from "node:timers/promises";
import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  mergeFromJson,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { assignStruct, isStruct, PER_TURN } from "../../transport/decode.ts";
import { badRequest } from "../failure.ts";
import { findField } from "./field.ts";
import {
  fitField,
  fitList,
  fitMembers,
  fitMessage,
  holdsNull,
  isObject,
  type JsonRules,
} from "./json-fit.ts";
import type { Tolerance } from "./tolerance.ts";

/**
 * A message from JSON, as readJson gives it; the JSON is changed. A long list in it takes several turns
 * of the event loop. What stands in a google.protobuf.Struct is taken as it is: such a field keeps plain
 * JSON.
 *
 * @throws INVALID_ARGUMENT that says which value does not fit and what was expected.
 */
export function messageFromJson(
  desc: DescMessage,
  json: JsonValue,
  rules: JsonRules,
): Message | Promise<Message> {
  if (hasCustomJsonRepresentation(desc) || !isObject(json)) {
    const root = { json };
    check(fitMessage(desc, root, "json", "", rules));
    return read(() => fromJson(desc, root.json, optionsOf(rules)));
  }
  nameMembers(desc, json, rules.reading.tolerance);
  const members = Object.entries(json).map(([name, value]) => ({
    name,
    value,
    field: findField(desc, name),
  }));
  const structs = members.filter(({ field, value }) => field && isStruct(field) && isObject(value));
  const lists = members.filter(
    ({ field, value }) =>
      field?.fieldKind === "list" && Array.isArray(value) && value.length > LONG_LIST,
  );
  const apart = new Set(lists.map(({ name }) => name));
  // A field given twice is seen only while both are there; the lists' elements are looked at below.
  const fitted: JsonObject = Object.fromEntries(
    members.map(({ name, value }) => [name, apart.has(name) ? [] : value]),
  );
  check(fitMembers(desc, fitted, "", rules));
  for (const { name } of [...structs, ...lists]) delete fitted[name];
  const message = read(() => fromJson(desc, fitted, optionsOf(rules)));
  for (const { field, value } of structs)
    if (field) assignStruct(message, field, value as JsonObject);
  return lists.length === 0 ? message : addLists(desc, message, lists, rules);
}

/**
 * The same where the JSON is the value of one field, such as a bare array.
 *
 * @throws INVALID_ARGUMENT likewise.
 */
export function fieldFromJson(
  desc: DescMessage,
  field: DescField,
  json: JsonValue,
  rules: JsonRules,
): Message | Promise<Message> {
  if (json === null && !holdsNull(field)) return create(desc);
  nameInside(field, json, rules.reading.tolerance);
  if (field.fieldKind === "list" && Array.isArray(json) && json.length > LONG_LIST)
    return addLists(desc, create(desc), [{ name: "", value: json, field }], rules);
  const body = { [field.jsonName]: json };
  check(fitField(field, body, field.jsonName, "", rules));
  if (!isStruct(field) || !isObject(json))
    return read(() => fromJson(desc, body, optionsOf(rules)));
  const message = create(desc);
  assignStruct(message, field, json);
  return message;
}

/** Elements of a list that are read in one turn: an element is a message of a few values. */
const LONG_LIST = PER_TURN / 8;

const optionsOf = ({ registry }: JsonRules) => ({ ignoreUnknownFields: true, registry }) as const;

interface LongList {
  /** For the words of an error; empty where the list is all of the body. */
  readonly name: string;
  readonly value: JsonValue;
  readonly field: DescField | undefined;
}

async function addLists(
  desc: DescMessage,
  message: Message,
  lists: readonly LongList[],
  rules: JsonRules,
): Promise<Message> {
  for (const { name, value, field } of lists) {
    const elements = value as JsonValue[];
    for (let start = 0; start < elements.length; start += LONG_LIST) {
      const part = elements.slice(start, start + LONG_LIST);
      if (field === undefined) continue;
      check(fitList(field, part, name, rules, start));
      read(() => mergeFromJson(desc, message, { [field.jsonName]: part }, optionsOf(rules)));
      await nextTurn();
    }
  }
  return message;
}

/** Everything known was checked; whatever is left must not show the library's words. */
function read(make: () => Message): Message {
  try {
    return make();
  } catch {
    throw badRequest("body: does not fit the request");
  }
}

function check(problem: string | undefined): void {
  if (problem !== undefined) throw badRequest(`body: ${problem}`);
}

/**
 * Gives members the name of a field that is written the same but for upper and lower case, where none
 * has the exact one, and takes empty text away from numbers that may be absent: both as far as they are
 * tolerated.
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

/** Empty text for a number that may be absent: what a form's empty box sends. */
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
    if (isObject(one)) nameMembers(message, one, tolerance);
}
