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
  const counter = createCounter(bytes, shapeOf(desc), limits, depth);
  const decode = (): Message | Promise<Message> => decodeCounted(desc, bytes, counter, options);
  if (refusing(() => counter.count(COUNTED))) return decode();
  return countInTurns(counter).then(decode);
}

async function countInTurns(counter: Counter): Promise<void> {
  do await nextTurn();
  while (!refusing(() => counter.count(COUNTED)));
}

function decodeCounted(
  desc: DescMessage,
  bytes: Uint8Array,
  counter: Counter,
  options: Partial<BinaryReadOptions>,
): Message | Promise<Message> {
  // The library returns `bytes` fields as views of its input, whose memory is released afterwards.
  // `slice` does not copy: it is a view of a Buffer too.
  const own = hasBytes(desc) ? new Uint8Array(bytes) : bytes;
  if (counter.values() > PER_TURN) return decodeInTurns(desc, own, options);
  return refusing(() => fromBinary(desc, own, options));
}

/** Reports whether a message type has a field of type `bytes`, also in nested messages. */
const hasBytes = memoize((desc: DescMessage): boolean => {
  const seen = new Set<DescMessage>();
  const search = (inner: DescMessage): boolean => {
    if (seen.has(inner)) return false;
    seen.add(inner);
    return inner.fields.some(
      ({ scalar, message }) =>
        scalar === ScalarType.BYTES || (message !== undefined && search(message)),
    );
  };
  return search(desc);
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

/** Error of a message with more values than the limits permit. */
export function tooManyValues(what: string, { values, about = "" }: MessageLimits): BadRequest {
  return new BadRequest("BODY_INVALID", `the ${what} holds more than ${values} values${about}`);
}

/** Error of a text that is longer than the limits permit. */
export function textTooLong(what: string, { text }: MessageLimits): ConnectError {
  return invalid(`the ${what} has a text of more than ${text} bytes`);
}

/**
 * Fields of a message type with more than one value, by number: messages, with the shape of their
 * type, and packed lists, with the fewest bytes of an element.
 */
interface Shape {
  readonly fields: ReadonlyMap<number, (() => Shape) | number>;
  /** Values that each field of a message counts as. */
  readonly weight: number;
}

/**
 * Weights of the messages that JSON is made of, so that a document has the same number of values in
 * each form: a member has four fields (entry, key, value, kind), an element two.
 */
const JSON_WEIGHTS: Readonly<Record<string, number>> = {
  "google.protobuf.Struct": 0.25,
  "google.protobuf.Value": 0.25,
  "google.protobuf.ListValue": 0.75,
};

const shapeOf = memoize((desc: DescMessage): Shape => {
  const weight = JSON_WEIGHTS[desc.typeName] ?? 1;
  return { weight, fields: new Map(desc.fields.flatMap((field) => inner(field, weight))) };
});

/** Bytes of the scalar types with a fixed size (protobuf, "Encoding", "Message Structure"). */
const FIXED: Partial<Record<ScalarType, number>> = {
  [ScalarType.DOUBLE]: 8,
  [ScalarType.FIXED64]: 8,
  [ScalarType.SFIXED64]: 8,
  [ScalarType.FLOAT]: 4,
  [ScalarType.FIXED32]: 4,
  [ScalarType.SFIXED32]: 4,
};

function inner(field: DescField, weight: number): [number, (() => Shape) | number][] {
  const { message } = field;
  const own = message && (() => shapeOf(message));
  // An entry of a map is a message with the value as field 2 (protobuf, "Encoding", "Maps").
  const entry: Shape = { weight, fields: new Map(own ? [[2, own]] : []) };
  if (field.fieldKind === "map") return [[field.number, () => entry]];
  if (own) return [[field.number, own]];
  const { scalar } = field;
  const isPacked =
    field.fieldKind === "list" && scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES;
  return isPacked ? [[field.number, (scalar && FIXED[scalar]) ?? 1]] : [];
}

/**
 * Counter of the values in a message; of a packed list it counts the greatest number that its bytes
 * can hold.
 */
interface Counter {
  /** Values so far. */
  readonly values: () => number;
  /**
   * Counts up to `fields` further fields. @returns whether it is done.
   * @throws INVALID_ARGUMENT for a message beyond the limits.
   */
  readonly count: (fields: number) => boolean;
}

function createCounter(
  bytes: Uint8Array,
  shape: Shape,
  limits: MessageLimits,
  maxDepth: number,
): Counter {
  const reader = new BinaryReader(bytes);
  /** The messages around the position, the innermost last. */
  const open = [{ end: bytes.length, shape }];
  let values = 0;
  const enter = (end: number, inner: Shape): void => {
    if (open.length >= maxDepth)
      throw invalid(`the request is nested deeper than ${maxDepth} levels`);
    if (end > reader.len) throw new RangeError("a length beyond the end");
    open.push({ end, shape: inner });
  };
  const countField = ({ fields, weight }: Shape): void => {
    // As `reader.tag`, which makes an array per field.
    const tag = reader.uint32();
    const [number, type] = [tag >>> 3, tag & 7];
    if (number === 0 || type > WireType.Bit32) throw new RangeError("an invalid tag");
    values += weight;
    if (type !== WireType.LengthDelimited) reader.skip(type, number, maxDepth);
    else {
      const length = reader.uint32();
      const field = fields.get(number);
      if (typeof field === "function") enter(reader.pos + length, field());
      else {
        if (field !== undefined) values += length / field;
        else if (length > limits.text) throw textTooLong("request", limits);
        reader.pos += length;
      }
    }
    if (values > limits.values) throw tooManyValues("request", limits);
  };
  return {
    values: () => values,
    count: (most) => {
      let left = most;
      for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
        if (reader.pos > inner.end) throw new RangeError("a value beyond the end");
        if (reader.pos === inner.end) {
          open.pop();
          continue;
        }
        if (left === 0) return false;
        left -= 1;
        countField(inner.shape);
      }
      return true;
    },
  };
}

/** Fields that are counted per tick; one takes about 50 ns. */
const COUNTED = 40_000;

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
      assignStruct(message, struct, await readInTurns(reader));
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

/** Reads a Struct over several ticks, of about TICK each. */
async function readInTurns(reader: BinaryReader): Promise<JsonObject> {
  const steps = refusing(() => readStruct(reader, reader.uint32()));
  let began = performance.now();
  for (let count = 1; ; count += 1) {
    const step = refusing(() => steps.next());
    if (step.done) return step.value;
    if (count % STEPS !== 0 || performance.now() - began < TICK) continue;
    await nextTurn();
    began = performance.now();
  }
}

/** Milliseconds of work in a tick, and steps between two looks at the clock. */
const TICK = 4;
const STEPS = 16;

/** Reader that stops after each element of a list and after every MEMBERS members of an object. */
type Steps<T> = Generator<undefined, T>;

const MEMBERS = 32;

function* readStruct(reader: BinaryReader, length: number): Steps<JsonObject> {
  const end = reader.pos + length;
  const members: [string, JsonValue][] = [];
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) members.push(yield* readEntry(reader));
    else reader.skip(type, number, MAX_DEPTH);
    if (members.length % MEMBERS === 0) yield;
  }
  return Object.fromEntries(members);
}

function* readEntry(reader: BinaryReader): Steps<[string, JsonValue]> {
  const end = reader.uint32() + reader.pos;
  let key = "";
  let value: JsonValue = null;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) key = reader.string();
    else if (number === 2 && type === WireType.LengthDelimited) value = yield* readValue(reader);
    else reader.skip(type, number, MAX_DEPTH);
  }
  return [key, value];
}

/** A google.protobuf.Value (google/protobuf/struct.proto). */
function* readValue(reader: BinaryReader): Steps<JsonValue> {
  const end = reader.uint32() + reader.pos;
  let value: JsonValue = null;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 2 && type === WireType.Bit64) value = finite(reader.double());
    else if (number === 3 && type === WireType.LengthDelimited) value = reader.string();
    else if (number === 4 && type === WireType.Varint) value = reader.bool();
    else if (number === 5 && type === WireType.LengthDelimited)
      value = yield* readStruct(reader, reader.uint32());
    else if (number === 6 && type === WireType.LengthDelimited) value = yield* readList(reader);
    else reader.skip(type, number, MAX_DEPTH);
  }
  return value;
}

function* readList(reader: BinaryReader): Steps<JsonValue[]> {
  const end = reader.uint32() + reader.pos;
  const values: JsonValue[] = [];
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) values.push(yield* readValue(reader));
    else reader.skip(type, number, MAX_DEPTH);
    yield;
  }
  return values;
}

function finite(number: number): number {
  if (Number.isFinite(number)) return number;
  throw invalid("the request contains a number that JSON cannot represent");
}
