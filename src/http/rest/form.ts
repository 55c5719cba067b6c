import { type DescMessage, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { findField } from "./field.ts";
import { parseQuery, queryValue } from "./query.ts";
import type { RequestRule } from "./request.ts";

/** Whether a request may come as a form: the body is the message, and that has nothing but scalars. */
export function takesForm({ body, desc }: RequestRule): boolean {
  return body.kind === "message" && desc.fields.every(({ fieldKind }) => fieldKind === "scalar");
}

/**
 * The members of an HTML form (application/x-www-form-urlencoded), as JSON. An empty value for
 * anything but a text counts as absent.
 *
 * @throws INVALID_ARGUMENT for a broken % escape.
 */
export function readForm(bytes: Buffer, desc: DescMessage): JsonObject {
  const members = parseQuery(bytes.toString("utf8")).flatMap((pair) => {
    const value = queryValue(pair);
    const scalar = findField(desc, pair.name)?.scalar;
    if (scalar === ScalarType.STRING || scalar === undefined) return [[pair.name, value] as const];
    if (value === "") return [];
    return [[pair.name, scalar === ScalarType.BOOL ? value === "true" : value] as const];
  });
  return Object.fromEntries(members);
}
