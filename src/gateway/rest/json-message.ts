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
import { findFieldProblem, findListProblem, findMessageProblem, isObject } from "./json-problem.ts";

/**
 * A message from JSON. A long list in it takes several turns of the event loop. What stands in a
 * google.protobuf.Struct is taken as it is: such a field keeps plain JSON.
 *
 * @throws INVALID_ARGUMENT that says which value does not fit and what was expected.
 */
export function messageFromJson(desc: DescMessage, json: JsonValue): Message | Promise<Message> {
  if (hasCustomJsonRepresentation(desc) || !isObject(json)) {
    check(findMessageProblem(desc, json, ""));
    return read(() => fromJson(desc, json, OPTIONS));
  }
  nameMembers(desc, json);
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
  const apart = new Set([...structs, ...lists].map(({ name }) => name));
  const others = Object.fromEntries(Object.entries(json).filter(([name]) => !apart.has(name)));
  // A field given twice is seen only while both are there; the lists' elements are looked at below.
  const emptied = Object.fromEntries(
    members.map(({ name, value }) => [name, apart.has(name) ? emptyLike(value) : value]),
  );
  check(findMessageProblem(desc, emptied, ""));
  const message = read(() => fromJson(desc, others, OPTIONS));
  for (const { field, value } of structs)
    if (field) assignStruct(message, field, value as JsonObject);
  return lists.length === 0 ? message : addLists(desc, message, lists);
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
): Message | Promise<Message> {
  nameInside(field, json);
  if (field.fieldKind === "list" && Array.isArray(json) && json.length > LONG_LIST)
    return addLists(desc, create(desc), [{ name: "", value: json, field }]);
  check(findFieldProblem(field, json, ""));
  if (!isStruct(field) || !isObject(json))
    return read(() => fromJson(desc, { [field.jsonName]: json }, OPTIONS));
  const message = create(desc);
  assignStruct(message, field, json);
  return message;
}

/** Elements of a list that are read in one turn: an element is a message of a few values. */
const LONG_LIST = PER_TURN / 8;

const OPTIONS = { ignoreUnknownFields: true } as const;

interface LongList {
  /** For the words of an error; empty where the list is all of the body. */
  readonly name: string;
  readonly value: JsonValue;
  readonly field: DescField | undefined;
}

async function addLists(desc: DescMessage, message: Message, lists: readonly LongList[]) {
  for (const { name, value, field } of lists) {
    const elements = value as JsonValue[];
    for (let start = 0; start < elements.length; start += LONG_LIST) {
      const part = elements.slice(start, start + LONG_LIST);
      if (field === undefined) continue;
      check(findListProblem(field, part, name, start));
      read(() => mergeFromJson(desc, message, { [field.jsonName]: part }, OPTIONS));
      await nextTurn();
    }
  }
  return message;
}

function emptyLike(value: JsonValue): JsonValue {
  return Array.isArray(value) ? [] : {};
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
 * has the exact one: servers of this kind have always read `Key` as `key`.
 */
function nameMembers(desc: DescMessage, json: JsonObject): void {
  for (const name of Object.keys(json)) {
    const field = findField(desc, name) ?? fieldInAnyCase(desc, name);
    if (field === undefined) continue;
    const value = isLeftOut(field, json[name]) ? null : (json[name] as JsonValue);
    const isExact = field.name === name || field.jsonName === name;
    if (!isExact) {
      if (Object.hasOwn(json, field.name) || Object.hasOwn(json, field.jsonName)) continue;
      delete json[name];
    }
    json[isExact ? name : field.name] = value;
    nameInside(field, value);
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

function nameInside({ message }: DescField, value: JsonValue): void {
  if (message === undefined || hasCustomJsonRepresentation(message)) return;
  for (const one of Array.isArray(value) ? value : [value])
    if (isObject(one)) nameMembers(message, one);
}
