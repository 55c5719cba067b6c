import { isOnSite, type OnSites, pathOn, pathsOf } from "./site-choice.ts";

/** Records by key, with an index of their paths on any site. */
export class PathIndex<R extends OnSites> extends Map<string, R> {
  readonly #keys = new Map<string, Set<string>>();

  constructor(records: Iterable<readonly [string, R]>) {
    super();
    for (const [key, record] of records) this.set(key, record);
  }

  override set(key: string, record: R): this {
    this.delete(key);
    for (const path of pathsOf(record)) addTo(this.#keys, path, key);
    return super.set(key, record);
  }

  override delete(key: string): boolean {
    const before = this.get(key);
    if (before !== undefined) for (const path of pathsOf(before)) this.#keys.get(path)?.delete(key);
    return super.delete(key);
  }

  /** Records that have one of the paths on a site. */
  at(paths: readonly string[]): readonly (readonly [key: string, record: R])[] {
    const keys = new Set(paths.flatMap((path) => [...(this.#keys.get(path) ?? [])]));
    return [...keys].flatMap((key) => {
      const record = this.get(key);
      return record === undefined ? [] : [[key, record] as const];
    });
  }
}

function addTo(sets: Map<string, Set<string>>, path: string, key: string): void {
  const set = sets.get(path);
  if (set === undefined) sets.set(path, new Set([key]));
  else set.add(key);
}

/**
 * Finds another record with the same path on a site.
 *
 * @returns the other record with the site's id, or without a site if both are on all sites.
 *   Undefined: none.
 */
export function findClash<R extends OnSites>(
  key: string,
  record: R,
  records: PathIndex<R>,
  siteIds: readonly string[],
): { readonly other: R; readonly site: string | undefined } | undefined {
  for (const [otherKey, other] of records.at(pathsOf(record))) {
    if (otherKey === key) continue;
    const both = siteIds.find(
      (site) =>
        isOnSite(record, site) &&
        isOnSite(other, site) &&
        pathOn(record, site) === pathOn(other, site),
    );
    const everywhere =
      record.siteIds === "all" && other.siteIds === "all" && record.path === other.path;
    if (both !== undefined || everywhere) return { other, site: both };
  }
  return undefined;
}
