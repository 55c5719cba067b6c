import { isOnSite, type OnSites, pathOn, pathsOf } from "./site-choice.ts";

/** Records by key, with an index of the paths that they have on any site. */
export class PathIndex<R extends OnSites> extends Map<string, R> {
  readonly #keys: Keys = new Map();

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
    if (before !== undefined) for (const path of pathsOf(before)) removeFrom(this.#keys, path, key);
    return super.delete(key);
  }

  /** Records that have one of the paths on a site. */
  at(paths: readonly string[]): readonly (readonly [key: string, record: R])[] {
    const keys = new Set(paths.flatMap((path) => keysOf(this.#keys.get(path))));
    return [...keys].flatMap((key) => {
      const record = this.get(key);
      return record === undefined ? [] : [[key, record] as const];
    });
  }
}

/** Keys of records by path. Most paths have one key, which needs no set. */
type Keys = Map<string, string | Set<string>>;

function keysOf(keys: string | Set<string> | undefined): readonly string[] {
  if (keys === undefined) return [];
  return typeof keys === "string" ? [keys] : [...keys];
}

function addTo(all: Keys, path: string, key: string): void {
  const keys = all.get(path);
  if (keys === undefined) all.set(path, key);
  else if (typeof keys !== "string") keys.add(key);
  else if (keys !== key) all.set(path, new Set([keys, key]));
}

function removeFrom(all: Keys, path: string, key: string): void {
  const keys = all.get(path);
  if (keys === key) all.delete(path);
  else if (typeof keys === "object") keys.delete(key);
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
    const sharedSite = siteIds.find(
      (site) =>
        isOnSite(record, site) &&
        isOnSite(other, site) &&
        pathOn(record, site) === pathOn(other, site),
    );
    // The service may have no site yet.
    const isEverywhere =
      record.siteIds === "all" && other.siteIds === "all" && record.path === other.path;
    if (sharedSite !== undefined || isEverywhere) return { other, site: sharedSite };
  }
  return undefined;
}
