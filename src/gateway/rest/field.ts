import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { refuseRule } from "./rule.ts";
import { integerRange } from "./value.ts";

/** The fields from a message down to one of its (nested) fields; at least one. */
export type FieldPath = readonly [DescField, ...DescField[]];

/** The field of a message by its proto name or its JSON name. */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.name === name || field.jsonName === name);
}

/** Most names in a field path. */
const MAX_PATH_NAMES = 16;

/**
 * Resolves `a.b.c` through singular message fields; undefined when a step doesn't exist or the path
 * has more than MAX_PATH_NAMES names.
 */
export function findFieldPath(desc: DescMessage, path: string): FieldPath | undefined {
  const names = path.split(".", MAX_PATH_NAMES + 1);
  if (names.length > MAX_PATH_NAMES) return undefined;
  const fields: DescField[] = [];
  let parent: DescMessage | undefined = desc;
  for (const name of names) {
    const field: DescField | undefined = parent && findField(parent, name);
    if (field === undefined) return undefined;
    fields.push(field);
    parent = field.fieldKind === "message" ? field.message : undefined;
  }
  const [first, ...others] = fields;
  return first && [first, ...others];
}

/** The path as it stands in the proto files, such as `item.id`. */
export function fieldPathText(path: FieldPath): string {
  return path.map((field) => field.name).join(".");
}

/** Sets a singular field, or appends to a repeated one. */
export type FieldSetter = (message: Message, value: unknown) => void;

/**
 * Makes the setter of a (nested) field. Values are what protobuf-es keeps for the field's type;
 * they are not checked again.
 */
export function createFieldSetter(path: FieldPath): FieldSetter {
  const [field, ...rest] = path;
  const [next, ...others] = rest;
  if (next === undefined) return createLeafSetter(field);
  const setInner = createFieldSetter([next, ...others]);
  return (message, value) => setInner(childMessage(message, field), value);
}

function createLeafSetter(field: DescField): FieldSetter {
  const name = field.localName;
  if (field.fieldKind === "list") {
    return (message, value) => void (properties(message)[name] as unknown[]).push(value);
  }
  if (field.fieldKind === "message") {
    // A wrapper such as StringValue is kept unwrapped: reflection knows where.
    return (message, value) => {
      reflect(field.parent, message).set(field, reflect(field.message, value as Message));
    };
  }
  if (field.oneof) {
    const group = field.oneof.localName;
    return (message, value) => {
      properties(message)[group] = { case: name, value };
    };
  }
  return (message, value) => {
    properties(message)[name] = value;
  };
}

function childMessage(message: Message, field: DescField): Message {
  const parent = reflect(field.parent, message);
  const child = parent.get(field as DescField & { fieldKind: "message" });
  parent.set(field, child);
  return child.message;
}

function properties(message: Message): Record<string, unknown> {
  return message as unknown as Record<string, unknown>;
}

/** A request field that a header fills with the state a client has seen. */
export interface StateField {
  /** The field keeps an integer (as bigint), not text. */
  readonly numeric: boolean;
  readonly set: FieldSetter;
}

/**
 * The request field that an option (if_match, last_event_id) names.
 *
 * @throws RuleError unless it is an optional 64-bit integer or string.
 */
export function findStateField(method: DescMethod, option: string, name: string): StateField {
  const field = findField(method.input, name);
  if (!field) return refuseRule(method, `${option} "${name}" is no field of the request`);
  const numeric = field.fieldKind === "scalar" && integerRange(field.scalar)?.wide === true;
  const text = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  if (!(numeric && !field.longAsString) && !text) {
    refuseRule(method, `${option} "${name}" must be a 64-bit integer or a string`);
  }
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT) {
    refuseRule(method, `${option} "${name}" must be optional: 0 is a state, absent is none`);
  }
  return { numeric, set: createFieldSetter([field]) };
}
