import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import {
  DurationSchema,
  FieldMaskSchema,
  FileDescriptorProtoSchema,
  Int64ValueSchema,
  ListValueSchema,
  StringValueSchema,
  StructSchema,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createJsonWriters, type JsonWriterForm } from "../../src/gateway/json-writer.ts";
import { createJsonText, escapeHtml, JSON_OPTIONS } from "../../src/gateway/serialize.ts";
import { field, made, REPEATED } from "./contract.ts";

const scalars = {
  some_text: "STRING",
  is_set: "BOOL",
  int32: "INT32",
  sint32: "SINT32",
  sfixed32: "SFIXED32",
  uint32: "UINT32",
  fixed32: "FIXED32",
  int64: "INT64",
  sint64: "SINT64",
  sfixed64: "SFIXED64",
  uint64: "UINT64",
  fixed64: "FIXED64",
  ratio: "DOUBLE",
  share: "FLOAT",
  data: "BYTES",
  kind: ["ENUM", ".one.Kind"],
} as const;

const messages = {
  note: ["MESSAGE", ".one.Note"],
  time: ["MESSAGE", ".google.protobuf.Timestamp"],
  span: ["MESSAGE", ".google.protobuf.Duration"],
  mask: ["MESSAGE", ".google.protobuf.FieldMask"],
  values: ["MESSAGE", ".google.protobuf.ListValue"],
} as const;

type Type = string | readonly [type: string, typeName: string];

/** Fields with consecutive numbers from `first` on. */
function fields(types: Readonly<Record<string, Type>>, first: number, more: JsonObject = {}) {
  return Object.entries(types).map(([name, type], at) => {
    const [kind = "", typeName] = [type].flat();
    return field(name, kind, first + at, { ...(typeName && { typeName }), ...more });
  });
}

function named(prefix: string, types: Readonly<Record<string, Type>>) {
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => [`${prefix}_${name}`, type]),
  );
}

const everything = { ...scalars, ...messages };
const optionals = fields(named("maybe", scalars), 200).map(
  (field, index): JsonObject => ({ ...field, proto3Optional: true, oneofIndex: index + 1 }),
);
const entryOf = (key: string, value: Type) => ({
  name: `${key}Entry`,
  options: { mapEntry: true },
  field: [...fields({ key: "STRING" }, 1), ...fields({ value }, 2)],
});
const file = fromJson(FileDescriptorProtoSchema, {
  name: "one.proto",
  package: "one",
  syntax: "proto3",
  dependency: [
    "google/protobuf/timestamp.proto",
    "google/protobuf/duration.proto",
    "google/protobuf/field_mask.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/wrappers.proto",
  ],
  enumType: [
    {
      name: "Kind",
      value: [
        { name: "KIND_UNKNOWN", number: 0 },
        { name: "KIND_FIRST", number: 7 },
        { name: "KIND_LAST", number: -1 },
      ],
    },
  ],
  messageType: [
    {
      name: "Note",
      field: [
        // Declared in another order than that of their numbers.
        ...fields({ text: "STRING" }, 3),
        ...fields({ inner: ["MESSAGE", ".one.Note"] }, 2),
        ...fields({ size: "INT64" }, 1),
      ],
    },
    { name: "Nothing" },
    {
      name: "All",
      field: [
        ...fields(everything, 1),
        ...fields(named("many", everything), 50, REPEATED),
        ...fields(named("choice", everything), 100, { oneofIndex: 0 }),
        ...optionals,
        ...fields({ texts_by_name: ["MESSAGE", ".one.All.TextsByNameEntry"] }, 300, REPEATED),
        ...fields({ notes_by_name: ["MESSAGE", ".one.All.NotesByNameEntry"] }, 301, REPEATED),
      ],
      nestedType: [
        entryOf("TextsByName", "STRING"),
        entryOf("NotesByName", ["MESSAGE", ".one.Note"]),
      ],
      oneofDecl: [{ name: "choice" }, ...optionals.map(({ name }) => ({ name: `_${name}` }))],
    },
    {
      name: "Left",
      field: [
        ...fields({ struct: ["MESSAGE", ".google.protobuf.Struct"] }, 1),
        ...fields({ wrapped: ["MESSAGE", ".google.protobuf.StringValue"] }, 2),
        ...fields({ by_number: ["MESSAGE", ".one.Left.ByNumberEntry"] }, 3, REPEATED),
        ...fields({ text: "STRING" }, 4),
      ],
      nestedType: [
        {
          name: "ByNumberEntry",
          options: { mapEntry: true },
          field: [...fields({ key: "INT32" }, 1), ...fields({ value: "STRING" }, 2)],
        },
      ],
    },
  ],
});
const IMPORTED = [
  TimestampSchema,
  DurationSchema,
  FieldMaskSchema,
  StructSchema,
  StringValueSchema,
];
const registry = createFileRegistry(file, (name) =>
  IMPORTED.map((desc) => desc.file).find(({ proto }) => proto.name === name),
);

function descOf(name: string): DescMessage {
  const desc = registry.getMessage(`one.${name}`);
  if (desc === undefined) throw new Error(name);
  return desc;
}

const [All, Note, Left] = [descOf("All"), descOf("Note"), descOf("Left")];

const forms: JsonWriterForm[] = [true, false].flatMap((useProtoFieldName) =>
  [true, false].flatMap((alwaysEmitImplicit) =>
    [true, false].map((enumAsInteger) => ({
      useProtoFieldName,
      alwaysEmitImplicit,
      enumAsInteger,
    })),
  ),
);

const byLibrary = (desc: DescMessage, message: Message) => JSON.stringify(toJson(desc, message));
const written = (form: JsonWriterForm, desc: DescMessage, message: Message, only?: DescField) =>
  createJsonWriters(form, byLibrary)(desc)(message, only);

/** Members whose values are arbitrary, often zero, and often absent. */
function membersOf(desc: DescMessage, depth = 0): fc.Arbitrary<object> {
  const plain = desc.fields.filter(({ oneof }) => oneof === undefined);
  const own = fc.record(
    Object.fromEntries(plain.map((field) => [field.localName, fieldOf(field, depth)])),
    { requiredKeys: [] },
  );
  const groups = desc.oneofs.map(({ localName, fields: choices }) =>
    fc
      .oneof(
        ...choices.map((field) =>
          fc.record({ case: fc.constant(field.localName), value: contentOf(field, depth) }),
        ),
      )
      .map((chosen) => ({ [localName]: chosen })),
  );
  return fc.tuple(own, ...groups).map((parts) => Object.assign({}, ...parts));
}

function fieldOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const value = contentOf(field, depth);
  if (field.fieldKind === "list") return fc.array(value, { maxLength: 3 });
  if (field.fieldKind === "map") return fc.dictionary(TEXT, value, { maxKeys: 3 });
  return value;
}

const TEXT = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", "<&>", '"\\\u2028', "__proto__", "1"),
);
const INTEGER_BITS: Partial<Record<ScalarType, readonly [bits: number, isSigned: boolean]>> = {
  [ScalarType.INT32]: [32, true],
  [ScalarType.SINT32]: [32, true],
  [ScalarType.SFIXED32]: [32, true],
  [ScalarType.UINT32]: [32, false],
  [ScalarType.FIXED32]: [32, false],
  [ScalarType.INT64]: [64, true],
  [ScalarType.SINT64]: [64, true],
  [ScalarType.SFIXED64]: [64, true],
  [ScalarType.UINT64]: [64, false],
  [ScalarType.FIXED64]: [64, false],
};

function contentOf(
  { message, enum: options, scalar }: DescField,
  depth: number,
): fc.Arbitrary<unknown> {
  if (message === Note) return noteOf(depth);
  if (message !== undefined) return fc.constantFrom(...(WELL_KNOWN[message.typeName] ?? []));
  if (options !== undefined) return fc.constantFrom(0, 7, -1);
  if (scalar === ScalarType.BOOL) return fc.boolean();
  if (scalar === ScalarType.BYTES) return fc.uint8Array({ maxLength: 9 });
  if (scalar === ScalarType.DOUBLE) return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (scalar === ScalarType.FLOAT) return fc.float({ noNaN: true, noDefaultInfinity: true });
  const [bits, isSigned] = INTEGER_BITS[scalar as ScalarType] ?? [];
  if (bits === undefined) return TEXT;
  const [min, max] = isSigned
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n];
  const integer = fc.oneof(fc.constantFrom(0n, min, max), fc.bigInt({ min, max }));
  return bits === 64 ? integer : integer.map(Number);
}

/** A note that contains notes. */
function noteOf(depth: number): fc.Arbitrary<unknown> {
  if (depth > 2) return fc.constant(create(Note));
  return membersOf(Note, depth + 1).map((members) => made(Note, members));
}

const WELL_KNOWN: Readonly<Record<string, readonly Message[]>> = {
  "google.protobuf.Timestamp": [create(TimestampSchema, { seconds: 1n, nanos: 500_000_000 })],
  "google.protobuf.Duration": [create(DurationSchema, { seconds: -3n })],
  "google.protobuf.FieldMask": [create(FieldMaskSchema, { paths: ["some_text", "time"] })],
  "google.protobuf.ListValue": [create(ListValueSchema), fromJson(ListValueSchema, [1, "<", null])],
};

test.each(forms)("a message has the text of the library: %j", (form) => {
  fc.assert(
    fc.property(membersOf(All), (members) => {
      const message = made(All, members);
      const json = toJson(All, message, form) as JsonObject;
      expect(written(form, All, message)).toBe(JSON.stringify(json));
      for (const field of [All.field["someText"], All.field["manyNote"], All.field["choiceTime"]])
        expect(written(form, All, message, field)).toBe(
          JSON.stringify(json[nameIn(form, field)] ?? null),
        );
    }),
    { numRuns: 50 },
  );
  expect(written(form, All, create(All))).toBe(JSON.stringify(toJson(All, create(All), form)));
});

function nameIn({ useProtoFieldName }: JsonWriterForm, field: DescField | undefined): string {
  return (useProtoFieldName ? field?.name : field?.jsonName) ?? "";
}

const FORM: JsonWriterForm = { ...JSON_OPTIONS, enumAsInteger: false };

test("an empty message is an empty object", () => {
  const desc = descOf("Nothing");
  expect(written(FORM, desc, create(desc))).toBe("{}");
});

const surrogate = "\ud800";

test.each<[string, DescMessage, object]>([
  ["an unpaired surrogate", All, { someText: surrogate }],
  ["an unpaired surrogate in a list", All, { manySomeText: ["", surrogate] }],
  ["an unpaired surrogate in a key", All, { textsByName: { [surrogate]: "" } }],
  ["an unpaired surrogate in an inner message", All, { note: made(Note, { text: surrogate }) }],
  ["a number for a text", All, { someText: 1 }],
  ["a text for a boolean", All, { isSet: "true" }],
  ["an int32 out of range", All, { int32: 2 ** 31 }],
  [
    "an int32 out of range that is the member of a oneof",
    All,
    { choice: { case: "choiceInt32", value: 2 ** 31 } },
  ],
  ["an optional int32 out of range", All, { maybeInt32: -(2 ** 31) - 1 }],
  ["a uint32 below 0", All, { uint32: -1 }],
  ["a fraction", All, { int32: 1.5 }],
  ["not a number", All, { int32: Number.NaN }],
  ["an int64 out of range", All, { int64: 2n ** 63n }],
  ["a uint64 below 0", All, { uint64: -1n }],
  ["a number for an int64", All, { int64: 2 ** 60 }],
  ["an infinite number", All, { ratio: Number.POSITIVE_INFINITY }],
  ["a float out of range", All, { share: 1e300 }],
  ["a number without a name", All, { kind: 9 }],
  ["a message of another type", All, { note: create(TimestampSchema) }],
  ["no value", All, { someText: undefined }],
  ["no list", All, { manySomeText: undefined }],
  [
    "unknown fields, which may be extensions",
    All,
    { $unknown: [{ no: 999, wireType: 0, data: [1] }] },
  ],
  ["a Struct", Left, { struct: { $typeName: "google.protobuf.Struct", fields: {} } }],
  ["a wrapper", Left, { wrapped: "" }],
  ["a map with numbers as keys", Left, { byNumber: { 1: "" } }],
])("the library writes or refuses %s", (_, desc, members) => {
  const message = Object.assign(create(desc), members);
  expect(written(FORM, desc, message)).toBeUndefined();
});

test("a required field that is absent is refused by the library, a default value is not written", () => {
  const old = fromJson(FileDescriptorProtoSchema, {
    name: "old.proto",
    package: "old",
    syntax: "proto2",
    messageType: [
      {
        name: "Old",
        field: [
          ...fields({ name: "STRING" }, 1, { label: "LABEL_REQUIRED" }),
          ...fields({ text: "STRING" }, 2, { defaultValue: "usual" }),
        ],
      },
    ],
  });
  const desc = createFileRegistry(old, () => undefined).getMessage("old.Old") as DescMessage;
  expect(written(FORM, desc, create(desc))).toBeUndefined();
  expect(written(FORM, desc, made(desc, { name: "" }))).toBe('{"name":""}');
});

test("a message without its rare fields is written", () => {
  expect(written(FORM, Left, made(Left, { text: "a" }))).toBe('{"by_number":{},"text":"a"}');
});

test.each([StringValueSchema, Int64ValueSchema])("$typeName has its own form", (desc) => {
  expect(written(FORM, desc, create(desc as DescMessage))).toBeUndefined();
});

describe("a reply", () => {
  const text = createJsonText(escapeHtml);

  test.each<[string, object, string]>([
    ["a member", { int32: 2 ** 31 }, "int32"],
    ["a list", { manyInt32: [0, 1.5] }, "many_int32"],
    [
      "an inner message",
      { note: made(Note, { inner: made(Note, { size: 2n ** 63n }) }) },
      "note.inner.size",
    ],
  ])("with an invalid value in %s fails with the path, without the value", (_, members, path) => {
    expect(() => text(All, Object.assign(create(All), members))).toThrow(
      `one.All cannot be encoded: the value of ${path} is invalid`,
    );
  });

  test("with values that are left to the library has its JSON", () => {
    const members = { struct: { a: [1] }, wrapped: "b", byNumber: { 1: "c" }, text: "d" };
    const message = made(Left, members);
    expect(JSON.parse(text(Left, message))).toEqual(toJson(Left, message, JSON_OPTIONS));
  });

  test("that contains itself fails", () => {
    const note = create(Note) as Message & { inner?: Message };
    note.inner = note;
    expect(() => text(Note, note)).toThrow("one.Note cannot be encoded");
  });
});
