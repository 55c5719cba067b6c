import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { integerRange } from "../rest/value.ts";
import type { MemberNames } from "../serialize.ts";

/** Comments of a contract by full name, such as `acme.v1.Book.title`. */
export type Comments = Readonly<Record<string, string>>;

/**
 * Direction of JSON: replies have every member without presence, 64-bit numbers as text; requests
 * may omit members and send such numbers in either form (protobuf's JSON mapping).
 */
export type Direction = "reply" | "request";

/**
 * Collects the JSON Schemas (draft 2020-12) of messages, each once, as components of a document.
 *
 * @internal
 */
export class Schemas {
  readonly #comments: Comments;
  readonly #components = new Map<string, JsonObject>();

  readonly #names: MemberNames;

  /** @param names of members in JSON. Default: proto names. */
  constructor(comments: Comments, names: MemberNames = "proto") {
    this.#comments = comments;
    this.#names = names;
  }

  /** Name of a field's member, which replies use and requests may use. */
  name({ name, jsonName }: DescField): string {
    return this.#names === "json" ? jsonName : name;
  }

  /** All referenced schemas, by name. */
  get components(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** JSON schema of a message: a reference, or the form of a well-known type. */
  message(desc: DescMessage, direction: Direction): JsonObject {
    const known = WELL_KNOWN[desc.typeName];
    if (known !== undefined) return { ...known };
    const name = componentName(desc, direction);
    if (!this.#components.has(name)) {
      // First, because a message type may contain itself.
      this.#components.set(name, {});
      this.#components.set(name, this.#object(desc, direction));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** JSON schema of a field, without its comment. */
  field(field: DescField, direction: Direction): JsonObject {
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#value(field, direction) };
      case "map":
        return { type: "object", additionalProperties: this.#value(field, direction) };
      default:
        return this.#value(field, direction);
    }
  }

  /** Comment of a field in the contract. */
  comment(field: DescField): string | undefined {
    return this.#comments[`${field.parent.typeName}.${field.name}`];
  }

  #value(field: DescField, direction: Direction): JsonObject {
    if (field.message) return this.message(field.message, direction);
    if (field.enum) return this.#enum(field.enum);
    return scalarSchema(field.scalar, direction);
  }

  #enum(desc: DescEnum): JsonObject {
    const scope = desc.typeName.slice(0, desc.typeName.lastIndexOf("."));
    const said = desc.values.flatMap(({ name }) => {
      const comment = this.#comments[`${scope}.${name}`];
      return comment === undefined ? [] : [`- \`${name}\`: ${comment}`];
    });
    return {
      type: "string",
      enum: desc.values.map(({ name }) => name),
      ...(said.length === 0 ? {} : { description: said.join("\n") }),
    };
  }

  #object(desc: DescMessage, direction: Direction): JsonObject {
    const comment = this.#comments[desc.typeName];
    const required = desc.fields.filter(isAlwaysThere).map((field) => this.name(field));
    return {
      type: "object",
      ...(comment === undefined ? {} : { description: comment }),
      properties: Object.fromEntries(
        desc.fields.map((field) => [this.name(field), this.#commented(field, direction)]),
      ),
      ...(direction === "reply" && required.length > 0 ? { required } : {}),
    };
  }

  #commented(field: DescField, direction: Direction): JsonObject {
    const schema = this.field(field, direction);
    const comment = this.comment(field);
    if (comment === undefined) return schema;
    const own = schema["description"];
    const description = typeof own === "string" ? `${comment}\n\n${own}` : comment;
    return { ...schema, description };
  }
}

/** Members without presence are in every reply, empty or not. */
function isAlwaysThere(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

function componentName({ typeName, file }: DescMessage, direction: Direction): string {
  const name = typeName.slice(file.proto.package.length).replace(/^\./, "").replaceAll(".", "_");
  return direction === "reply" || /(?:Request|Input)$/.test(name) ? name : `${name}Input`;
}

/** JSON schema of a scalar; text in a query or path if `direction` is `text`. */
export function scalarSchema(
  scalar: ScalarType | undefined,
  direction: Direction | "text",
): JsonObject {
  const range = integerRange(scalar);
  if (range !== undefined) {
    const format = `${range.min === 0n ? "u" : ""}int${range.wide ? 64 : 32}`;
    if (!range.wide)
      return { type: "integer", format, minimum: Number(range.min), maximum: Number(range.max) };
    if (direction === "text") return { type: "integer", format };
    const text = { type: "string", format, pattern: "^-?[0-9]{1,20}$" };
    return direction === "reply" ? text : { ...text, type: ["string", "integer"] };
  }
  switch (scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return direction === "text"
        ? { type: "number" }
        : { type: ["number", "string"], pattern: "^(?:NaN|-?Infinity)$" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    default:
      return { type: "string" };
  }
}

/** Messages with their own form in JSON. */
const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Any": { type: "object" },
  "google.protobuf.BoolValue": { type: ["boolean", "null"] },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]+(?:\\.[0-9]{1,9})?s$" },
  "google.protobuf.Empty": { type: "object" },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.StringValue": { type: ["string", "null"] },
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Value": {},
  ...Object.fromEntries(
    [
      ["BytesValue", ScalarType.BYTES],
      ["DoubleValue", ScalarType.DOUBLE],
      ["FloatValue", ScalarType.FLOAT],
      ["Int32Value", ScalarType.INT32],
      ["Int64Value", ScalarType.INT64],
      ["UInt32Value", ScalarType.UINT32],
      ["UInt64Value", ScalarType.UINT64],
    ].map(([name, scalar]) => {
      const { type, ...rest } = scalarSchema(scalar as ScalarType, "request");
      const types = Array.isArray(type) ? type : [type];
      return [`google.protobuf.${name}`, { ...rest, type: [...types, "null"] } as JsonObject];
    }),
  ),
};
