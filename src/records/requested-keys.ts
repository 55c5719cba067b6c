import type { ServiceError } from "../messages/error.ts";

/**
 * Keys of the records that a sync of a site concerns.
 *
 * @param keys of the request; none: all of the site. @throws `unknown` and `elsewhere`.
 */
export function requestedKeys(
  keys: readonly string[],
  records: {
    /** Keys of the site's records. */
    readonly ofSite: readonly string[];
    /** All records, by key. */
    readonly all: ReadonlyMap<string, unknown>;
    /** NOT_FOUND, with the nearest key. */
    readonly unknown: (key: string) => ServiceError;
    /** NOT_FOUND for a record of other sites. */
    readonly elsewhere: (key: string) => ServiceError;
  },
): readonly string[] {
  const known = new Set(records.ofSite);
  if (keys.length === 0) return [...known];
  const requested = [...new Set(keys)];
  for (const key of requested)
    if (!records.all.has(key)) throw records.unknown(key);
    else if (!known.has(key)) throw records.elsewhere(key);
  return requested;
}
