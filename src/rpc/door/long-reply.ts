import { setImmediate as nextTurn } from "node:timers/promises";
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { PER_TURN, SHORT } from "../in-turns.ts";
import { jsonOptions } from "./connect-limit.ts";

/** A list or map of a message. */
type LongField = DescField & { readonly fieldKind: "list" | "map" };

/** The list or map of a reply that is too long to be encoded in one turn of the event loop, if any. */
export function longFieldOf(desc: DescMessage, message: Message): LongField | undefined {
  return desc.fields.find(
    (field): field is LongField =>
      (field.fieldKind === "list" || field.fieldKind === "map") &&
      elementsOf(field, message).length > SHORT,
  );
}

/**
 * The bytes of a message with a long field, in parts. Encodings of parts of a message, one after the
 * other, are an encoding of all of it (protobuf, "Encoding", "Last One Wins").
 */
export async function binaryInTurns(
  desc: DescMessage,
  field: LongField,
  message: Message,
): Promise<Uint8Array[]> {
  const parts = [toBinary(desc, without(desc, field, message))];
  for (const slice of slicesOf(desc, field, message)) {
    parts.push(toBinary(desc, slice));
    await nextTurn();
  }
  return parts;
}

/** The JSON text of a message with a long field, likewise. */
export async function jsonInTurns(
  desc: DescMessage,
  field: LongField,
  message: Message,
): Promise<Uint8Array[]> {
  const others = toJson(desc, without(desc, field, message), jsonOptions) as JsonObject;
  const [open, close] = field.fieldKind === "list" ? "[]" : "{}";
  const names = Object.keys(others);
  const members = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(others[name])}`);
  const at = names.indexOf(field.name);
  const before = [...members.slice(0, at), `${JSON.stringify(field.name)}:${open}`].join(",");
  const parts = [Buffer.from(`{${before}`)];
  for (const slice of slicesOf(desc, field, message)) {
    const text = JSON.stringify((toJson(desc, slice, jsonOptions) as JsonObject)[field.name]);
    // The part's text without its own brackets.
    parts.push(Buffer.from(`${parts.length > 1 ? "," : ""}${text.slice(1, -1)}`));
    await nextTurn();
  }
  const after = [`${close}`, ...members.slice(at + 1)].join(",");
  return [...parts, Buffer.from(`${after}}`)];
}

function elementsOf(field: LongField, message: Message): readonly unknown[] {
  const value = (message as unknown as Record<string, object>)[field.localName] ?? [];
  return Array.isArray(value) ? value : Object.entries(value);
}

function without(desc: DescMessage, field: LongField, message: Message): Message {
  const empty = field.fieldKind === "list" ? [] : {};
  return Object.assign(create(desc), message, { [field.localName]: empty });
}

function* slicesOf(desc: DescMessage, field: LongField, message: Message): Generator<Message> {
  const elements = elementsOf(field, message);
  for (let start = 0; start < elements.length; start += PER_TURN) {
    const slice = elements.slice(start, start + PER_TURN);
    const value =
      field.fieldKind === "list" ? slice : Object.fromEntries(slice as [string, unknown][]);
    yield Object.assign(create(desc), { [field.localName]: value });
  }
}
