import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { memoize } from "../../memoize.ts";
import { integerRange } from "../rest/value.ts";
import type { MemberNames } from "../serialize.ts";
import { behaviorOf, isLegacyRequired } from "./behavior.ts";
import type { Components, Direction, MessageEntry } from "./components.ts";

/** Comments of a contract by full name, such as `acme.v1.Book.title`. */
export type Comments = Readonly<Record<string, string>>;

/** Form of JSON that the gateway's options choose. */
export interface JsonForm {
  readonly memberNames: MemberNames;
  /** Replies have members without presence, empty or not. */
  readonly alwaysEmitImplicit: boolean;
  /** Replies have the numbers of enum values, not their names. */
  readonly enumAsInteger: boolean;
}

const NONE_OMITTED: readonly string[] = [];

/**
 * JSON Schemas of messages in one form of JSON. Those of message types and enums are components of
 * the document.
 *
 * @internal
 */
export class Schemas {
  readonly #components: Components;
  readonly #comments: Comments;
  readonly #form: JsonForm;
  readonly #formName: string;

  /** @param formName words for the form, where it is not that of the document; else empty. */
  constructor(components: Components, comments: Comments, form: JsonForm, formName = "") {
    this.#components = components;
    this.#comments = comments;
    this.#form = form;
    this.#formName = formName;
  }

  /** Name of a field's member, which replies use and requests may use. */
  name({ name, jsonName }: DescField): string {
    return this.#form.memberNames === "json" ? jsonName : name;
  }

  /**
   * JSON schema of a message: a reference, or the form of a well-known type.
   *
   * @param omitted field paths that the message lacks, because the request's path has them.
   */
  message(
    desc: DescMessage,
    direction: Direction,
    omitted: readonly string[] = NONE_OMITTED,
  ): JsonObject {
    const known = WELL_KNOWN[desc.typeName];
    if (known !== undefined) return { ...known };
    const own = direction === "patch" && !isDemanding(desc) ? "request" : direction;
    const entry = { desc, direction: own, form: this.#formName, omitted };
    return this.#components.refer(entry, () => this.#object(entry));
  }

  /** JSON schema of a field, without its comment. */
  field(field: DescField, direction: Direction, omitted: readonly string[] = []): JsonObject {
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#value(field, whole(direction)) };
      case "map":
        return { type: "object", additionalProperties: this.#value(field, whole(direction)) };
      default:
        return this.#value(field, direction, omitted);
    }
  }

  /** Comment of a field in the contract. */
  comment(field: DescField): string | undefined {
    return this.#comments[`${field.parent.typeName}.${field.name}`];
  }

  #value(field: DescField, direction: Direction, omitted: readonly string[] = []): JsonObject {
    if (field.message) return this.message(field.message, direction, omitted);
    if (field.enum) return this.#enum(field.enum, direction);
    return scalarSchema(field.scalar, direction);
  }

  #enum(desc: DescEnum, direction: Direction): JsonObject {
    if (desc.typeName === "google.protobuf.NullValue") return { type: "null" };
    const isNumber = direction === "reply" && this.#form.enumAsInteger;
    return this.#components.refer({ desc, isNumber }, () => this.#enumValues(desc, isNumber));
  }

  #enumValues(desc: DescEnum, isNumber: boolean): JsonObject {
    const scope = desc.typeName.slice(0, desc.typeName.lastIndexOf(".") + 1);
    const said = desc.values.flatMap(({ name, deprecated }) => {
      const comment = this.#comments[`${scope}${name}`];
      const notes = [...(deprecated ? ["Deprecated."] : []), ...(comment ? [comment] : [])];
      return notes.length === 0 ? [] : [`- \`${name}\`: ${notes.join(" ")}`];
    });
    const comment = this.#comments[desc.typeName];
    const notes = [...(comment ? [comment] : []), ...(said.length > 0 ? [said.join("\n")] : [])];
    return {
      type: isNumber ? "integer" : "string",
      enum: desc.values.map(({ name, number }) => (isNumber ? number : name)),
      ...(notes.length === 0 ? {} : { description: notes.join("\n\n") }),
    };
  }

  #object({ desc, direction, omitted }: MessageEntry): JsonObject {
    const comment = this.#comments[desc.typeName];
    const fields = desc.fields.filter(({ name }) => !omitted.includes(name));
    const required = fields
      .filter((field) => isRequired(field, direction, this.#form))
      .map((field) => this.name(field));
    return {
      type: "object",
      ...(comment === undefined ? {} : { description: comment }),
      ...(desc.deprecated ? { deprecated: true } : {}),
      properties: Object.fromEntries(
        fields.map((field) => [
          this.name(field),
          this.#annotated(field, direction, below(omitted, field)),
        ]),
      ),
      ...(required.length > 0 ? { required } : {}),
    };
  }

  #annotated(field: DescField, direction: Direction, omitted: readonly string[]): JsonObject {
    const schema = this.field(field, direction, omitted);
    const { outputOnly, inputOnly, immutable } = behaviorOf(field);
    const notes = [this.comment(field), immutable ? "Immutable." : undefined].filter(
      (note) => note !== undefined,
    );
    return {
      ...schema,
      ...(notes.length === 0 ? {} : { description: notes.join("\n\n") }),
      ...(field.deprecated ? { deprecated: true } : {}),
      ...(outputOnly ? { readOnly: true } : {}),
      ...(inputOnly ? { writeOnly: true } : {}),
    };
  }
}

/** Elements of a list and values of a map are whole: a mask cannot select a part of them. */
function whole(direction: Direction): Direction {
  return direction === "patch" ? "request" : direction;
}

/** Paths below a field: `book.name` gives `name`. */
function below(paths: readonly string[], { name }: DescField): readonly string[] {
  const before = `${name}.`;
  return paths.filter((path) => path.startsWith(before)).map((path) => path.slice(before.length));
}

/** Whether JSON of a direction always has a member. */
function isRequired(
  field: DescField,
  direction: Direction,
  { alwaysEmitImplicit }: JsonForm,
): boolean {
  if (direction === "patch") return false;
  const { required, inputOnly } = behaviorOf(field);
  if (direction === "request") return required;
  if (isLegacyRequired(field)) return true;
  const isImplicit = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return alwaysEmitImplicit && isImplicit && !inputOnly;
}

/** Whether requests must have a member of a message, or of one of its messages. */
const isDemanding = memoize((desc: DescMessage): boolean => {
  const seen = new Set([desc]);
  // The set grows while it is read: a message type may contain itself.
  for (const { fields } of seen) {
    for (const field of fields) {
      if (behaviorOf(field).required) return true;
      const inner = field.fieldKind === "message" ? field.message : undefined;
      if (inner !== undefined && WELL_KNOWN[inner.typeName] === undefined) seen.add(inner);
    }
  }
  return false;
});

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
  "google.protobuf.Any": {
    type: "object",
    properties: { "@type": { type: "string" } },
    additionalProperties: true,
  },
  "google.protobuf.BoolValue": { type: ["boolean", "null"] },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]+(?:\\.[0-9]{1,9})?s$" },
  "google.protobuf.Empty": { type: "object" },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.ListValue": { type: "array", items: {} },
  "google.protobuf.StringValue": { type: ["string", "null"] },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
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
