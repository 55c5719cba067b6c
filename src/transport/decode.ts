import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type BinaryReadOptions,
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type Message,
  mergeFromBinary,
  ScalarType,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ConnectError } from "@connectrpc/connect";
import { memoize } from "../memoize.ts";
import { BadRequest, type MessageLimits } from "./body.ts";

/** Default limits; a text is as long as the body. */
export const MESSAGE_LIMITS: MessageLimits = { values: 100_000, text: Number.POSITIVE_INFINITY };
/** Maximum nesting of messages, arrays and objects in a request. */
export const MAX_DEPTH = 64;
/** Values decoded per event-loop tick; one takes about 1 µs. */
export const PER_TURN = 2_000;

/** Options of decoding a message. */
export interface DecodeOptions {
  /** Maximum nesting of messages. Default: MAX_DEPTH. */
  readonly depth?: number | undefined;
  /** Whether unknown fields are kept. Default: false. */
  readonly readUnknownFields?: boolean;
}

/**
 * Decodes a message. Many values are decoded over several event-loop ticks.
 *
 * @param limits default: MESSAGE_LIMITS.
 * @throws INVALID_ARGUMENT for invalid bytes, and for a message beyond the limits or of more than
 *   `depth` levels.
 */
export function decodeBinary(
  desc: DescMessage,
  bytes: Uint8Array,
  limits = MESSAGE_LIMITS,
  { depth = MAX_DEPTH, readUnknownFields = false }: DecodeOptions = {},
): Message | Promise<Message> {
  const options = { readUnknownFields, recursionLimit: depth };
  const values = refusing(() => countValues(bytes, shapeOf(desc), limits, depth));
  // The library returns `bytes` fields as views of its input, whose memory is released afterwards.
  // `slice` does not copy: it is a view of a Buffer too.
  const own = hasBytes(desc) ? new Uint8Array(bytes) : bytes;
  if (values > PER_TURN) return decodeInTurns(desc, own, options);
  return refusing(() => fromBinary(desc, own, options));
}

/** Reports whether a message type has a field of type `bytes`, also in nested messages. */
const hasBytes = memoize((desc: DescMessage): boolean => {
  const seen = new Set<DescMessage>();
  const look = (inner: DescMessage): boolean => {
    if (seen.has(inner)) return false;
    seen.add(inner);
    return inner.fields.some(
      ({ scalar, message }) =>
        scalar === ScalarType.BYTES || (message !== undefined && look(message)),
    );
  };
  return look(desc);
});

function refusing<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    throw invalid("the request is not a valid message of this method");
  }
}

function invalid(message: string): ConnectError {
  return new BadRequest("BODY_INVALID", message);
}

/** Error of a text that is longer than the limits permit. */
export function textTooLong(what: string, { text }: MessageLimits): ConnectError {
  return invalid(`the ${what} has a text of more than ${text} bytes`);
}

/**
 * Fields of a message type with more than one value, by number: messages, with the shape of their
 * type, and packed lists, with the fewest bytes of an element.
 */
type Shape = ReadonlyMap<number, (() => Shape) | number>;

const shapeOf = memoize(
  (desc: DescMessage): Shape => new Map(desc.fields.flatMap((field) => inner(field))),
);

/** Bytes of the scalar types with a fixed size (protobuf, "Encoding", "Message Structure"). */
const FIXED: Partial<Record<ScalarType, number>> = {
  [ScalarType.DOUBLE]: 8,
  [ScalarType.FIXED64]: 8,
  [ScalarType.SFIXED64]: 8,
  [ScalarType.FLOAT]: 4,
  [ScalarType.FIXED32]: 4,
  [ScalarType.SFIXED32]: 4,
};

function inner(field: DescField): [number, (() => Shape) | number][] {
  const { message } = field;
  const own = message && (() => shapeOf(message));
  // An entry of a map is a message with the value as field 2 (protobuf, "Encoding", "Maps").
  if (field.fieldKind === "map") return [[field.number, () => new Map(own ? [[2, own]] : [])]];
  if (own) return [[field.number, own]];
  const { scalar } = field;
  const isPacked =
    field.fieldKind === "list" && scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES;
  return isPacked ? [[field.number, (scalar && FIXED[scalar]) ?? 1]] : [];
}

/**
 * Number of values in the bytes; of a packed list the greatest number that its bytes can hold.
 *
 * @throws INVALID_ARGUMENT for a message beyond the limits.
 */
function countValues(
  bytes: Uint8Array,
  shape: Shape,
  limits: MessageLimits,
  maxDepth: number,
): number {
  const reader = new BinaryReader(bytes);
  let values = 0;
  const count = (end: number, fields: Shape, depth: number): void => {
    if (depth > maxDepth) throw invalid(`the request is nested deeper than ${maxDepth} levels`);
    if (end > reader.len) throw new RangeError("a length beyond the end");
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      values += 1;
      if (type !== WireType.LengthDelimited) reader.skip(type, number, maxDepth);
      else {
        const length = reader.uint32();
        const field = fields.get(number);
        if (typeof field === "function") count(reader.pos + length, field(), depth + 1);
        else {
          if (field !== undefined) values += length / field;
          else if (length > limits.text) throw textTooLong("request", limits);
          reader.pos += length;
        }
      }
      if (values > limits.values)
        throw invalid(`the request holds more than ${limits.values} values`);
    }
    if (reader.pos !== end) throw new RangeError("a value beyond the end");
  };
  count(bytes.length, shape, 1);
  return values;
}

/**
 * Decodes field by field, over several ticks. A google.protobuf.Struct is read into plain JSON, the
 * form that such a field keeps, without a message per value.
 */
async function decodeInTurns(
  desc: DescMessage,
  bytes: Uint8Array,
  options: Partial<BinaryReadOptions>,
): Promise<Message> {
  const message = create(desc);
  const reader = new BinaryReader(bytes);
  let from = 0;
  let fields = 0;
  const flush = (upTo: number): void => {
    if (upTo > from)
      refusing(() => mergeFromBinary(desc, message, bytes.subarray(from, upTo), options));
    from = upTo;
  };
  while (reader.pos < bytes.length) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    const struct = structField(desc, number);
    if (struct !== undefined && type === WireType.LengthDelimited) {
      flush(start);
      const json = refusing(() => readStruct(reader, reader.uint32()));
      assignStruct(message, struct, json);
      from = reader.pos;
    } else reader.skip(type, number, MAX_DEPTH);
    fields += 1;
    // A field may itself be a message with many values.
    if (fields < PER_TURN / 10 && reader.pos - from < 64 * 1024) continue;
    flush(reader.pos);
    fields = 0;
    await nextTurn();
  }
  flush(bytes.length);
  return message;
}

/** Reports whether a field of a request keeps plain JSON: a singular google.protobuf.Struct. */
export function isStruct(field: DescField): boolean {
  return field.fieldKind === "message" && field.message.typeName === "google.protobuf.Struct";
}

function structField(desc: DescMessage, number: number): DescField | undefined {
  return desc.fields.find((field) => field.number === number && isStruct(field));
}

/** Sets a Struct field, or merges the value into it. */
export function assignStruct(
  message: Message,
  { localName, oneof }: DescField,
  json: JsonObject,
): void {
  const fields = message as unknown as Record<string, unknown>;
  if (oneof === undefined) {
    fields[localName] = { ...(fields[localName] as JsonObject | undefined), ...json };
    return;
  }
  const set = fields[oneof.localName] as { case?: string; value?: JsonObject };
  const value = { ...(set.case === localName ? set.value : undefined), ...json };
  fields[oneof.localName] = { case: localName, value };
}

function readStruct(reader: BinaryReader, length: number): JsonObject {
  const end = reader.pos + length;
  const members: [string, JsonValue][] = [];
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) members.push(readEntry(reader));
    else reader.skip(type, number, MAX_DEPTH);
  }
  return Object.fromEntries(members);
}

function readEntry(reader: BinaryReader): [string, JsonValue] {
  const end = reader.uint32() + reader.pos;
  let key = "";
  let value: JsonValue = null;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) key = reader.string();
    else if (number === 2 && type === WireType.LengthDelimited) value = readValue(reader);
    else reader.skip(type, number, MAX_DEPTH);
  }
  return [key, value];
}

/** A google.protobuf.Value (google/protobuf/struct.proto). */
function readValue(reader: BinaryReader): JsonValue {
  const end = reader.uint32() + reader.pos;
  let value: JsonValue = null;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 2 && type === WireType.Bit64) value = finite(reader.double());
    else if (number === 3 && type === WireType.LengthDelimited) value = reader.string();
    else if (number === 4 && type === WireType.Varint) value = reader.bool();
    else if (number === 5 && type === WireType.LengthDelimited)
      value = readStruct(reader, reader.uint32());
    else if (number === 6 && type === WireType.LengthDelimited) value = readList(reader);
    else reader.skip(type, number, MAX_DEPTH);
  }
  return value;
}

function readList(reader: BinaryReader): JsonValue[] {
  const end = reader.uint32() + reader.pos;
  const values: JsonValue[] = [];
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) values.push(readValue(reader));
    else reader.skip(type, number, MAX_DEPTH);
  }
  return values;
}

function finite(number: number): number {
  if (Number.isFinite(number)) return number;
  throw invalid("the request contains a number that JSON cannot represent");
}
