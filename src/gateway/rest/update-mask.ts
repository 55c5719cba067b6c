import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { findField } from "./field.ts";
import { isObject } from "./json-fit.ts";
import type { BodyRule, Rule } from "./rule.ts";

/** Reading of the `update_mask` in a PATCH whose body is a field (AIP-134). */
export function findMask(
  desc: DescMessage,
  { httpMethod }: Rule,
  body: BodyRule,
): DescField | undefined {
  if (httpMethod !== "PATCH" || body.kind !== "field") return undefined;
  const field = findField(desc, "update_mask");
  const isMask =
    field?.fieldKind === "message" && field.message.typeName === "google.protobuf.FieldMask";
  return isMask ? field : undefined;
}

/** The paths of all members in a message's JSON, also in nested messages, in proto names. */
export function maskPaths(desc: DescMessage, json: JsonValue, before = ""): string[] {
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => {
    const field = findField(desc, name);
    if (field === undefined) return [];
    const path = `${before}${field.name}`;
    const inner =
      field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message)
        ? maskPaths(field.message, value, `${path}.`)
        : [];
    return inner.length > 0 ? inner : [path];
  });
}
