import { isDeepStrictEqual } from "node:util";
import { isObject } from "../is-object.ts";
import { ownValue } from "../own-value.ts";

/**
 * Values of an entry that a form would refuse, which its record has from a server, by their fields,
 * such as `members.order_by`. They are taken as they are, with a warning, unless they were edited
 * since. Null: the value is absent or secret, and is not compared.
 */
export type UncheckedValues = Readonly<Record<string, unknown>>;

/** Reports whether a value of an entry is taken as it is. */
export function isUnchecked(
  unchecked: UncheckedValues | undefined,
  field: string,
  value: unknown,
): boolean {
  const known = ownValue(unchecked, field);
  return known === null || (known !== undefined && isDeepStrictEqual(known, value));
}

/** Reads the member `unchecked` of an entry. @returns undefined: it is not a mapping. */
export function readUnchecked(given: unknown = {}): UncheckedValues | undefined {
  return isObject(given) ? given : undefined;
}
