import {
  type DescField,
  type DescMessage,
  type JsonWriteOptions,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";

/**
 * Writes the JSON text of a flat message; undefined for a value that it does not know, such as an
 * invalid one: the library writes or refuses it.
 */
export type FlatJson = (message: Message) => string | undefined;

/**
 * Creates the writer of a flat message: one with singular texts, booleans, int32 and int64 without
 * presence alone. It writes the text without the tree of values between, which takes 6 % of the
 * processor time of a small call.
 *
 * @returns undefined if the message is not flat.
 */
export function createFlatJson(
  desc: DescMessage,
  form: Required<Pick<JsonWriteOptions, "useProtoFieldName" | "alwaysEmitImplicit">>,
): FlatJson | undefined {
  if (hasCustomJsonRepresentation(desc) || !desc.fields.every(isFlat)) return undefined;
  const members = desc.fields.map(({ localName, scalar, name, jsonName }) => ({
    localName,
    scalar,
    start: `${JSON.stringify(form.useProtoFieldName ? name : jsonName)}:`,
  }));
  return (message) => {
    // Unknown fields may be extensions.
    if (message.$unknown !== undefined && message.$unknown.length > 0) return undefined;
    let text = "";
    for (const { localName, scalar, start } of members) {
      const value = (message as unknown as Record<string, unknown>)[localName];
      const isUnset = value === "" || value === false || value === 0 || value === 0n;
      const written = writeValue(scalar, value);
      if (written === undefined) return undefined;
      if (isUnset && !form.alwaysEmitImplicit) continue;
      text += text === "" ? `${start}${written}` : `,${start}${written}`;
    }
    return `{${text}}`;
  };
}

function isFlat({ fieldKind, presence, oneof, scalar }: DescField): boolean {
  return (
    fieldKind === "scalar" &&
    presence === FeatureSet_FieldPresence.IMPLICIT &&
    oneof === undefined &&
    FLAT.has(scalar)
  );
}

const FLAT: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.INT64,
]);

/** The JSON of a value of protobuf; undefined: it is not a valid one of this type. */
function writeValue(scalar: ScalarType | undefined, value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return scalar === ScalarType.STRING && value.isWellFormed()
        ? JSON.stringify(value)
        : undefined;
    case "boolean":
      return scalar === ScalarType.BOOL ? String(value) : undefined;
    case "number":
      return scalar === ScalarType.INT32 && value === (value | 0) ? `${value | 0}` : undefined;
    case "bigint":
      return scalar === ScalarType.INT64 && value === BigInt.asIntN(64, value)
        ? `"${value}"`
        : undefined;
    default:
      return undefined;
  }
}
