import type { ServiceError } from "./error.ts";
import type { Text } from "./message.ts";

/**
 * First violation of an entry that was checked by itself, without the place of the entry in the
 * call, which is not its position in the document.
 *
 * @param place beginning of the fields of violations, such as `mounts[0].`.
 */
export function entryProblem({ violations: [first], text }: ServiceError, place: string): Text {
  if (first === undefined) return text;
  const { field, description } = first;
  const own = field.startsWith(place) ? field.slice(place.length) : field;
  return typeof description === "string"
    ? description.replace(field, own)
    : description.with({ field: own });
}
