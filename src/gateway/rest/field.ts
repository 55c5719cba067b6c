import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { memoize } from "../../memoize.ts";
import { refuseRule } from "./rule.ts";
import { integerRange } from "./value.ts";

/** The fields from a message down to one of its (nested) fields; at least one. */
export type FieldPath = readonly [DescField, ...DescField[]];

/** The field of a message by its proto name or its JSON name. */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  return fieldsByName(desc).get(name);
}

// A proto name precedes another field's JSON name.
const fieldsByName = memoize(
  ({ fields }: DescMessage): ReadonlyMap<string, DescField> =>
    new Map([
      ...fields.map((field) => [field.jsonName, field] as const),
      ...fields.map((field) => [field.name, field] as const),
    ]),
);

/** Maximum number of names in a field path. */
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

/** The path as in the proto files, such as `item.id`. */
export function fieldPathText(path: FieldPath): string {
  return path.map((field) => field.name).join(".");
}

/** Sets a singular field, appends to a repeated one, or adds `[key, value]` to a map. */
export type FieldSetter = (message: Message, value: unknown) => void;

/**
 * Creates the setter of a (nested) field. Values must have the form of protobuf-es for the field's
 * type; they are not checked again.
 */
export function createFieldSetter(path: FieldPath): FieldSetter {
  const [field, ...rest] = path;
  const [next, ...others] = rest;
  if (next === undefined) return createLeafSetter(field);
  const setInner = createFieldSetter([next, ...others]);
  return (message, value) => {
    const parent = reflect(field.parent, message);
    const child = parent.get(field as DescField & { fieldKind: "message" });
    setInner(child.message, value);
    // Last, because a wrapper such as StringValue is stored unwrapped.
    parent.set(field, child);
  };
}

function createLeafSetter(field: DescField): FieldSetter {
  const name = field.localName;
  if (field.fieldKind === "list") {
    return (message, value) => void (properties(message)[name] as unknown[]).push(value);
  }
  if (field.fieldKind === "map") {
    return (message, value) => {
      const [key, one] = value as readonly [string, unknown];
      const entries = properties(message)[name] as Record<string, unknown>;
      Object.defineProperty(entries, key, ownMember(one));
    };
  }
  if (field.fieldKind === "message") {
    // A wrapper such as StringValue is stored unwrapped: reflection handles it.
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

/** Defines the member of a map: an assignment would not create one named `__proto__`. */
function ownMember(value: unknown): PropertyDescriptor {
  return {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  };
}

function properties(message: Message): Record<string, unknown> {
  return message as unknown as Record<string, unknown>;
}

/** A request field that a header sets to the state a client has seen. */
export interface StateField {
  /** Whether the field is an integer (a bigint), not text. */
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
  if (!field) return refuseRule(method, `${option} "${name}" is not a field of the request`);
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
