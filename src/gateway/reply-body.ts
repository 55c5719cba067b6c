import { setImmediate as nextTurn } from "node:timers/promises";
import {
  create,
  type DescField,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { jsonText, successEnvelope } from "./envelope.ts";
import type { ReplyRule } from "./reply-rule.ts";

/**
 * Elements of a list or map that are encoded in one turn of the event loop. A longer one is encoded
 * in several turns, so that it holds up nobody else's reply.
 */
export const ELEMENTS_PER_TURN = 100;

/** The body of a successful reply; a promise where its response_body is a long list or map. */
export function encodeBody(rule: ReplyRule, message: Message): Buffer | Promise<Buffer> {
  if (rule.shape === "envelope-null") return Buffer.from(successEnvelope("null"));
  if (isLong(rule.field, message)) return encodeLong(rule, rule.field, message);
  const json = replyJson(rule, message);
  if (rule.shape === "text") return Buffer.from(String(json ?? ""));
  return Buffer.from(wrap(rule, jsonText(json)));
}

/** The JSON of a response, or of its response_body field. */
export function replyJson(rule: ReplyRule, message: Message): JsonValue {
  const json = toJson(rule.method.output, message, JSON_OPTIONS);
  if (rule.field === undefined) return json;
  return (json as JsonObject)[rule.field.name] ?? null;
}

// The contract's own member names, and every member always present.
const JSON_OPTIONS = { useProtoFieldName: true, alwaysEmitImplicit: true } as const;

type LongField = DescField & { readonly fieldKind: "list" | "map" };

function isLong(field: DescField | undefined, message: Message): field is LongField {
  if (field?.fieldKind !== "list" && field?.fieldKind !== "map") return false;
  const elements = elementsOf(field, message);
  const count = Array.isArray(elements) ? elements.length : Object.keys(elements).length;
  return count > ELEMENTS_PER_TURN;
}

function elementsOf(field: DescField, message: Message): object {
  return (message as unknown as Record<string, object>)[field.localName] ?? [];
}

async function encodeLong(rule: ReplyRule, field: LongField, message: Message): Promise<Buffer> {
  const brackets = field.fieldKind === "list" ? "[]" : "{}";
  const [before = "", after = ""] = wrap(rule, "\0").split("\0");
  const pieces = [Buffer.from(before + brackets[0])];
  for (const part of cut(field, message)) {
    const partial = create(rule.method.output, { [field.localName]: part } as PartialFields);
    const text = jsonText(replyJson(rule, partial));
    // The part's text without its own brackets.
    pieces.push(Buffer.from(`${pieces.length > 1 ? "," : ""}${text.slice(1, -1)}`));
    await nextTurn();
  }
  return Buffer.concat([...pieces, Buffer.from(brackets[1] + after)]);
}

type PartialFields = Record<string, never>;

/** Cuts a list or map into parts of ELEMENTS_PER_TURN. */
function* cut(field: LongField, message: Message): Generator<object> {
  const elements = elementsOf(field, message);
  if (Array.isArray(elements)) {
    for (let start = 0; start < elements.length; start += ELEMENTS_PER_TURN) {
      yield elements.slice(start, start + ELEMENTS_PER_TURN);
    }
    return;
  }
  const entries = Object.entries(elements);
  for (let start = 0; start < entries.length; start += ELEMENTS_PER_TURN) {
    yield Object.fromEntries(entries.slice(start, start + ELEMENTS_PER_TURN));
  }
}

function wrap(rule: ReplyRule, json: string): string {
  return rule.shape === "envelope" ? successEnvelope(json) : json;
}
