import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";

/** Samples of messages with their own JSON form. */
const WELL_KNOWN: Readonly<Record<string, JsonValue>> = {
  "google.protobuf.Timestamp": "2026-01-31T08:00:00.500Z",
  "google.protobuf.Duration": "1.500s",
  "google.protobuf.FieldMask": "displayName,labels",
  "google.protobuf.Struct": { a: [1, null, "x"] },
  "google.protobuf.Value": [1.5, true],
  "google.protobuf.ListValue": [1, "x"],
  "google.protobuf.Empty": {},
  "google.protobuf.Any": { "@type": "type.googleapis.com/google.protobuf.Duration", value: "2s" },
  "google.protobuf.StringValue": "wrapped",
  "google.protobuf.BytesValue": "d3JhcHBlZA==",
  "google.protobuf.BoolValue": true,
  "google.protobuf.DoubleValue": 1.5,
  "google.protobuf.FloatValue": 1.5,
  "google.protobuf.Int32Value": 32,
  "google.protobuf.UInt32Value": 32,
  "google.protobuf.Int64Value": "64",
  "google.protobuf.UInt64Value": "64",
};

/** Messages below this level of a sample are left out: some types are recursive. */
const MAX_DEPTH = 2;

/** JSON of a message with a value in each field, for a oneof in its first one. */
export function sampleMessage(desc: DescMessage, depth = 0): JsonValue {
  const known = WELL_KNOWN[desc.typeName];
  if (known !== undefined) return known;
  const members: JsonObject = {};
  for (const field of desc.fields) {
    if (field.oneof && field.oneof.fields[0] !== field) continue;
    const value = sampleField(field, depth);
    if (value !== undefined) members[field.jsonName] = value;
  }
  return members;
}

/** JSON of a field's value: two elements of a list, one entry of a map. */
export function sampleField(field: DescField, depth = 0): JsonValue | undefined {
  const value = sampleOne(field, depth);
  if (value === undefined) return undefined;
  if (field.fieldKind === "list") return [value, value];
  return field.fieldKind === "map" ? { [MAP_KEYS[field.mapKey] ?? "7"]: value } : value;
}

const MAP_KEYS: Partial<Record<ScalarType, string>> = {
  [ScalarType.STRING]: "a key",
  [ScalarType.BOOL]: "true",
};

function sampleOne({ message, enum: values, scalar, name }: DescField, depth: number) {
  if (message) {
    if (depth < MAX_DEPTH) return sampleMessage(message, depth + 1);
    return WELL_KNOWN[message.typeName];
  }
  if (values) return values.typeName === NULL ? null : (values.values.at(-1)?.name ?? 0);
  return SCALARS[scalar as ScalarType] ?? `the ${name}`;
}

const NULL = "google.protobuf.NullValue";

/** Scalars by type, except texts. Integers of 64 bits are texts in JSON. */
const SCALARS: Partial<Record<ScalarType, JsonValue>> = {
  [ScalarType.BOOL]: true,
  [ScalarType.BYTES]: "Ynl0ZXM=",
  [ScalarType.DOUBLE]: 1.5,
  [ScalarType.FLOAT]: 1.5,
  [ScalarType.INT32]: 7,
  [ScalarType.SINT32]: 7,
  [ScalarType.UINT32]: 7,
  [ScalarType.FIXED32]: 7,
  [ScalarType.SFIXED32]: 7,
  [ScalarType.INT64]: "7",
  [ScalarType.SINT64]: "7",
  [ScalarType.UINT64]: "7",
  [ScalarType.FIXED64]: "7",
  [ScalarType.SFIXED64]: "7",
};

/** Whether the text of a query parameter can set a field. */
export function isText(field: DescField): boolean {
  if (field.fieldKind === "map" || field.enum?.typeName === NULL) return false;
  if (field.message === undefined) return true;
  const value = WELL_KNOWN[field.message.typeName];
  return value !== undefined && typeof value !== "object";
}
