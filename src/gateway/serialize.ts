import {
  type BinaryWriteOptions,
  create,
  type DescField,
  type DescMessage,
  isMessage,
  type JsonObject,
  type JsonValue,
  type JsonWriteOptions,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { memoize } from "../memoize.ts";
import { createTicks } from "../ticks.ts";
import { createJsonWriters } from "./json-writer.ts";

/**
 * A reply that has no valid encoding, such as an int32 out of range or a string that is no Unicode
 * text. The message names the type and the field, and never a value.
 *
 * @internal
 */
export class UnencodableReply extends Error {
  override readonly name = "UnencodableReply";
}

/**
 * The protobuf encoding of a reply.
 *
 * @throws UnencodableReply
 *
 * @internal
 */
export function serialize(
  desc: DescMessage,
  message: Message,
  options?: Partial<BinaryWriteOptions>,
): Buffer {
  return orUnencodable(desc, message, (type, part) => writeBinary(type, part, options));
}

/**
 * The JSON form of a reply.
 *
 * @throws UnencodableReply, also for what the library would write as invalid JSON of protobuf: an
 * integer out of range, a Timestamp with a fraction of nanoseconds.
 */
function serializeJson(
  desc: DescMessage,
  message: Message,
  options: Partial<JsonWriteOptions>,
): JsonValue {
  return orUnencodable(desc, message, (type, part) => {
    // The binary writer checks ranges.
    writeBinary(type, part);
    return toJson(type, part, options);
  });
}

type Write<T> = (desc: DescMessage, message: Message) => T;

const REPLACEMENT = Buffer.from("\ufffd");

function writeBinary(
  desc: DescMessage,
  message: Message,
  options?: Partial<BinaryWriteOptions>,
): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(desc, message, options);
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  // The writer replaces lone surrogates; a replacement character may also be the text's own.
  if (bytes.includes(REPLACEMENT) && !isWellFormed(message)) throw new Error("invalid UTF-16");
  return bytes;
}

/**
 * Reports whether every string in a value is valid Unicode: protobuf cannot encode an unpaired
 * surrogate.
 */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return true;
  return Object.entries(value).every(
    ([name, member]) => isWellFormed(name) && isWellFormed(member),
  );
}

function orUnencodable<T>(desc: DescMessage, message: Message, write: Write<T>): T {
  try {
    return write(desc, message);
  } catch {
    // The library's error quotes the value.
    const path = pathOfFault(desc, message, write);
    const where = path === "" ? "" : `: the value of ${path} is invalid`;
    throw new UnencodableReply(`${desc.typeName} cannot be encoded${where}`);
  }
}

/** Maximum depth of fields in the message. */
const MAX_LEVELS = 32;

/** Path of the first field that cannot be encoded; empty if none fails on its own. */
function pathOfFault(
  desc: DescMessage,
  message: Message,
  write: Write<unknown>,
  levels = MAX_LEVELS,
): string {
  const fails = (type: DescMessage, part: Message): boolean => {
    try {
      write(type, part);
      return false;
    } catch {
      return true;
    }
  };
  for (const field of desc.fields) {
    const value = memberOf(message, field);
    if (value === undefined || !fails(desc, only(desc, field, value))) continue;
    const isRepeated = field.fieldKind === "list" || field.fieldKind === "map";
    const values: unknown[] = isRepeated ? Object.values(value as object) : [value];
    const inner = field.message;
    const at = values.findIndex((one) => inner && isMessage(one) && fails(inner, one));
    const name = field.fieldKind === "list" && at >= 0 ? `${field.name}[${at}]` : field.name;
    if (inner === undefined || at < 0 || levels === 0) return name;
    const rest = pathOfFault(inner, values[at] as Message, write, levels - 1);
    return rest === "" ? name : `${name}.${rest}`;
  }
  return "";
}

interface Oneof {
  readonly case: string | undefined;
  readonly value?: unknown;
}

function memberOf(message: Message, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return Reflect.get(message, localName);
  const chosen = Reflect.get(message, oneof.localName) as Oneof;
  return chosen.case === localName ? chosen.value : undefined;
}

/** A message with only one field set. */
function only(desc: DescMessage, { localName, oneof }: DescField, value: unknown): Message {
  const message = create(desc);
  if (oneof === undefined) Reflect.set(message, localName, value);
  else Reflect.set(message, oneof.localName, { case: localName, value });
  return message;
}

/** Names of JSON members: JSON names, or the names in the proto files. */
export type MemberNames = "json" | "proto";

/** Options for proto names and for emitting fields without presence always. @internal */
export const JSON_OPTIONS = { useProtoFieldName: true, alwaysEmitImplicit: true } as const;

/** The JSON of a method's messages. @internal */
export interface JsonForm {
  readonly useProtoFieldName: boolean;
  readonly alwaysEmitImplicit: boolean;
  readonly enumAsInteger: boolean;
  /** Types of google.protobuf.Any, and extensions. */
  readonly registry?: Registry | undefined;
}

/** @internal */
export const PROTO_JSON: JsonForm = { ...JSON_OPTIONS, enumAsInteger: false };

/** Minimum length of a list whose elements' text is cached. */
const LONG = 256;

interface LongList {
  readonly field: DescField;
  readonly type: DescMessage;
  readonly elements: readonly Message[];
}

/** A request. Its signal is read only if needed: most calls have none, which takes microseconds. */
export interface Signalled {
  readonly signal: AbortSignal;
}

/** Options of a JSON text. */
interface TextOptions {
  readonly member?: DescField | undefined;
  /** Whether the text of the elements of long lists is cached: they are not changed any more. */
  readonly keepsParts?: boolean | undefined;
}

/**
 * Writes the JSON text of a message, or of the field `member` alone.
 *
 * @throws UnencodableReply
 *
 * @internal
 */
export interface JsonText {
  (desc: DescMessage, message: Message, options?: TextOptions): string;
  /**
   * Caches the text of the elements of long lists, over several ticks of the event loop, so that a
   * large message is written in less time afterwards, with `keepsParts`.
   *
   * @param request its signal ends it. @returns undefined: the message has no long list.
   */
  prepare(
    desc: DescMessage,
    message: Message,
    request: Signalled,
    member?: DescField,
  ): Promise<void> | undefined;
}

/**
 * Creates a writer that caches the text of each element of long lists for the lifetime of the
 * element: after a change of one setting out of 10,000 it encodes one, not all, which would block
 * the event loop for 100 ms.
 *
 * @param escapeText replaces characters in JSON text.
 * @param form default: proto names.
 *
 * @internal
 */
export function createJsonText(
  escapeText: (text: string) => string,
  form: JsonForm = PROTO_JSON,
): JsonText {
  const stringify = (value: JsonValue): string => escapeText(JSON.stringify(value));
  const nameOf = (field: DescField): string =>
    form.useProtoFieldName ? field.name : field.jsonName;
  const writerOf = createJsonWriters(form, (desc, message) =>
    tryText(() => JSON.stringify(serializeJson(desc, message, form))),
  );
  const wholeText = (desc: DescMessage, message: Message, member?: DescField): string => {
    const text = tryText(() => writerOf(desc)(message, member));
    if (text !== undefined) return escapeText(text);
    const json = serializeJson(desc, message, form);
    return stringify(member ? ((json as JsonObject)[nameOf(member)] ?? null) : json);
  };
  const textOf = memoize((desc: DescMessage) =>
    memoize((message: Message) => wholeText(desc, message)),
  );
  const listsOf = (desc: DescMessage, message: Message, member: DescField | undefined) =>
    // Without implicit values the empty list, into which the text is put, would not be written.
    form.alwaysEmitImplicit && !isWellKnown(desc)
      ? (member === undefined ? desc.fields : [member]).flatMap((one) => longList(one, message))
      : NONE;
  const prepared = new WeakSet<Message>();
  const prepare = async (
    message: Message,
    lists: readonly LongList[],
    signal: AbortSignal,
  ): Promise<void> => {
    const ticks = createTicks(signal);
    for (const { type, elements } of lists)
      for (const element of elements) {
        if (ticks.isDue()) await ticks.next();
        try {
          textOf(type)(element);
        } catch {
          // The error of the whole message names the field.
          return;
        }
      }
    prepared.add(message);
  };
  const write = (
    desc: DescMessage,
    message: Message,
    { member, keepsParts = false }: TextOptions = {},
  ): string => {
    const long = keepsParts ? listsOf(desc, message, member) : NONE;
    if (long.length === 0) return wholeText(desc, message, member);
    const texts = new Map(
      long.map(({ field, type, elements }) => {
        const listed = `[${elements.map(textOf(type)).join(",")}]`;
        return [nameOf(field), listed];
      }),
    );
    if (member !== undefined) return texts.get(nameOf(member)) ?? "null";
    const rest = Object.fromEntries(long.map(({ field }) => [field.localName, []]));
    const json = serializeJson(desc, { ...message, ...rest }, form);
    const members = Object.entries(json as JsonObject).map(
      ([name, value]) => `${stringify(name)}:${texts.get(name) ?? stringify(value)}`,
    );
    return `{${members.join(",")}}`;
  };
  return Object.assign(write, {
    prepare: (desc: DescMessage, message: Message, request: Signalled, member?: DescField) => {
      const lists = prepared.has(message) ? NONE : listsOf(desc, message, member);
      return lists.length === 0 ? undefined : prepare(message, lists, request.signal);
    },
  });
}

const NONE: readonly LongList[] = [];

/** The text; undefined if writing it fails, as for a message with members of other types. */
function tryText(write: () => string | undefined): string | undefined {
  try {
    return write();
  } catch {
    return undefined;
  }
}

/** Well-known types have their own JSON mapping. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

function longList(field: DescField, message: Message): LongList[] {
  if (field.fieldKind !== "list" || field.listKind !== "message") return [];
  const elements: unknown = Reflect.get(message, field.localName);
  if (!Array.isArray(elements) || elements.length < LONG) return [];
  return [{ field, type: field.message, elements }];
}

/** Content-Type of every envelope and of bare JSON. @internal */
export const JSON_TYPE = "application/json; charset=utf-8";

/**
 * JSON text that is safe in HTML and in scripts: `<`, `>`, `&` and the line separators U+2028 and
 * U+2029 are escaped. They can occur in strings only.
 *
 * @internal
 */
export function jsonText(value: JsonValue): string {
  return escapeHtml(JSON.stringify(value));
}

/** JSON text as that of `jsonText`. @internal */
export function escapeHtml(text: string): string {
  return text.replace(/[<>&\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
