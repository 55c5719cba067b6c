// Most expensive forms of requests, derived from the descriptors, so that new rpcs and fields are
// included.
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { createBodyLimit, createMessageLimits } from "../../../src/app/request-limits.ts";

/** Filling of a field: as large as possible, repetitive, or with extreme values. */
export type Kind = "largest" | "repetitive" | "extreme";

/** Expensive form of a request. */
export interface Form {
  readonly method: DescMethod;
  /**
   * Path of the filled field, such as `site.overrides.values`; empty: the request has no fields.
   */
  readonly path: string;
  readonly kind: Kind;
  build(size: Size): Message;
}

/** Size of a form. */
export interface Size {
  /** Bytes of a text. */
  readonly text: number;
  /** Elements of a list. */
  readonly elements: number;
  /** Entries of a map. */
  readonly entries: number;
  /** Members of a JSON object. */
  readonly members: number;
}

const DEFAULTS = { maxBody: 8 * 2 ** 20, maxValue: 2 ** 20 };
const bodyLimit = createBodyLimit(DEFAULTS);
const messageLimits = createMessageLimits(DEFAULTS);
/** Values of a request without lists of messages, at most. */
const LONG = 2_500;

/** Just below the bounds of a method's requests. */
export function wholeSize(method: DescMethod): Size {
  const { values, text } = messageLimits(method);
  return {
    text: Math.floor(Math.min(text, bodyLimit(method)) * 0.9),
    // Elements of long lists are messages of at least two values.
    elements: Math.floor(values * (values > LONG ? 0.49 : 0.98)),
    // An entry, its key and its value are counted.
    entries: Math.floor(values * 0.32),
    // A member of a document is one value.
    members: Math.floor(values * 0.95),
  };
}
/** Within most bounds of single fields, so that the request is accepted and executed. */
export const ACCEPTED: Size = { text: 200, elements: 1_000, entries: 1_000, members: 700 };

/** Valid values by field name, so that a request passes its first checks. */
const USUAL: Readonly<Record<string, unknown>> = {
  key: "site_title",
  keys: ["site_title"],
  name: "nowhere",
  principal: "nobody",
  id: "000000000000",
  driver: "Local",
  dry_run: true,
  value: "v",
  passphrase: "correct horse battery",
};

/** Fields that would make a request change data or call another server. */
const KEPT_OUT = new Set(["dry_run", "connect_downloaders"]);

/** All forms of a method's request. */
export function formsOf(method: DescMethod): readonly Form[] {
  const { input } = method;
  const forms = fieldForms(input).map(({ path, kind, fill }) => ({
    method,
    path,
    kind,
    build: (size: Size) => withUsual(input, fill(size)),
  }));
  if (forms.length > 0) return forms;
  return [{ method, path: "", kind: "extreme", build: () => create(input) }];
}

type Members = Record<string, unknown>;

interface FieldForm {
  readonly path: string;
  readonly kind: Kind;
  /** @returns the members of the message, by their local names. */
  readonly fill: (size: Size) => Members;
}

/** Depth of filling for recursive messages. */
const MAX_DEPTH = 4;

function fieldForms(desc: DescMessage, depth = 0): readonly FieldForm[] {
  if (desc.typeName === "google.protobuf.Struct") return [];
  return desc.fields
    .filter(({ name }) => !KEPT_OUT.has(name))
    .flatMap((field): readonly FieldForm[] => {
      const at = (kind: Kind, value: (size: Size) => unknown): FieldForm => ({
        path: field.name,
        kind,
        fill: (size) => membersOf(field, value(size)),
      });
      const both = (value: (kind: Kind, size: Size) => unknown): readonly FieldForm[] =>
        (["largest", "repetitive"] as const).map((kind) => at(kind, (size) => value(kind, size)));
      if (field.fieldKind === "list") return both((kind, size) => list(field, kind, size));
      if (field.fieldKind === "map") return both((kind, size) => map(kind, size, field.message));
      if (field.fieldKind === "enum")
        return [at("extreme", () => field.enum.values.at(-1)?.number)];
      if (field.fieldKind === "scalar")
        return field.scalar === ScalarType.STRING
          ? both(text)
          : [at("extreme", () => extreme(`${desc.typeName}.${field.name}`, field.scalar))];
      if (field.message.typeName === "google.protobuf.Struct")
        return both((kind, size) => struct(desc, kind, size));
      if (depth === MAX_DEPTH) return [];
      return fieldForms(field.message, depth + 1).map(({ path, kind, fill }) => ({
        path: `${field.name}.${path}`,
        kind,
        fill: (size) => membersOf(field, withUsual(field.message, fill(size))),
      }));
    });
}

/** Members of a message with a value of a field; a oneof is one member. */
function membersOf({ localName, oneof }: DescField, value: unknown): Members {
  return oneof === undefined
    ? { [localName]: value }
    : { [oneof.localName]: { case: localName, value } };
}

function withUsual(desc: DescMessage, members: Members): Message {
  const usual = desc.fields.flatMap((field) => {
    const value = USUAL[field.name];
    const isList = field.fieldKind === "list";
    const fits =
      value !== undefined && isList === Array.isArray(value) && field.message === undefined;
    return fits && members[field.localName] === undefined ? [[field.localName, value]] : [];
  });
  const all = { ...Object.fromEntries(usual), ...members };
  return create(desc, all as MessageInitShape<DescMessage>);
}

/** Largest values of the scalar types in the contract. */
const EXTREMES: Readonly<Partial<Record<ScalarType, unknown>>> = {
  [ScalarType.BOOL]: true,
  [ScalarType.INT32]: 2 ** 31 - 1,
  [ScalarType.UINT32]: 2 ** 32 - 1,
  [ScalarType.INT64]: 2n ** 63n - 1n,
};

/** Largest values with a JSON form. */
const TIMES: Readonly<Record<string, unknown>> = {
  "google.protobuf.Timestamp.seconds": 253_402_300_799n,
  "google.protobuf.Timestamp.nanos": 999_999_999,
  "google.protobuf.Duration.seconds": 315_576_000_000n,
  "google.protobuf.Duration.nanos": 999_999_999,
};

function extreme(name: string, type: ScalarType): unknown {
  const value = TIMES[name] ?? EXTREMES[type];
  if (value === undefined) throw new Error(`${name}: its type has no largest value in EXTREMES`);
  return value;
}

/** Text that matches nothing, or a pattern with the maximum number of parts. */
function text(kind: Kind, size: Size): string {
  return kind === "largest" ? "k".repeat(size.text) : "a*".repeat(size.text / 2);
}

/** Text of an element: different for each, or the name of an existing object. */
function element(kind: Kind, at: number): string {
  return kind === "largest" ? `key-${at}` : "attack_0";
}

function list(field: DescField & { fieldKind: "list" }, kind: Kind, size: Size): unknown {
  const { listKind } = field;
  const make = (at: number): unknown => {
    if (listKind === "enum") return field.enum.values.at(-1)?.number;
    if (listKind === "message") return listed(field.message, kind, at);
    if (field.scalar === ScalarType.STRING) return element(kind, at);
    return kind === "largest" ? at : 0;
  };
  return Array.from({ length: size.elements }, (_, at) => make(at));
}

/** Element with its texts, of which the key is unique. */
function listed(desc: DescMessage, kind: Kind, at: number): Message {
  const texts = desc.fields.flatMap((field): [string, unknown][] =>
    field.fieldKind === "scalar" && field.scalar === ScalarType.STRING && field.oneof === undefined
      ? [[field.localName, field.name === "key" ? element(kind, at) : ""]]
      : [],
  );
  return create(desc, Object.fromEntries(texts) as MessageInitShape<DescMessage>);
}

/** @param message of the values; undefined: they are texts. */
function map(kind: Kind, size: Size, message?: DescMessage): Record<string, unknown> {
  const count = kind === "largest" ? size.entries : Math.min(size.entries, 40);
  const value = kind === "largest" ? "" : text(kind, { ...size, text: size.text / count });
  const entries = Array.from({ length: count }, (_, at) => [
    `key-${at}`,
    message === undefined ? value : listed(message, kind, at),
  ]);
  return Object.fromEntries(entries);
}

/** Many settings or mounts as in a backup, many items of a driver, or deeply nested values. */
function struct({ typeName }: DescMessage, kind: Kind, size: Size): Members {
  const items = { ...size, entries: size.members };
  if (kind === "largest" && typeName === "mooring.v1.ValidateDriverConfigRequest")
    return map(kind, items);
  const many = (most: number, element: (at: number) => object): object[] =>
    Array.from({ length: Math.min(size.elements, most) }, (_, at) => element(at));
  if (kind === "largest")
    return {
      settings: many(16_000, (at) => ({ key: `key-${at}`, value: "v" })),
      storages: many(10_000, (at) => ({ mount_path: `/key-${at}`, driver: "Local" })),
    };
  let inner: unknown = "deep";
  for (let level = 0; level < 25; level += 1) inner = { a: [inner] };
  return { data: Array.from({ length: 200 }, () => inner) };
}
