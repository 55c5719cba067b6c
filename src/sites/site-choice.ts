import type { SiteNames } from "./site-names.ts";

/** Ids of the sites that have a record. `all`: also those that are created later. */
export type SiteIds = "all" | readonly string[];

/** Record that is on sites, with a path that a site can have for itself. */
export interface OnSites {
  readonly siteIds: SiteIds;
  readonly path: string;
  /** Values of sites, by the site's id. An empty path is the record's. */
  readonly overrides: Readonly<Record<string, { readonly path: string }>>;
}

/** Reports whether a record is assigned to a site. */
export function isOnSite({ siteIds }: Pick<OnSites, "siteIds">, siteId: string): boolean {
  return siteIds === "all" || siteIds.includes(siteId);
}

/** What the history keeps of a record that is on sites. */
export interface AttributesOnSites {
  readonly paths: readonly string[];
  readonly siteIds: SiteIds;
}

export function attributesOnSites(record: OnSites): AttributesOnSites {
  return { paths: [...new Set(pathsOf(record))], siteIds: record.siteIds };
}

/** Reports whether a record was on a site before or after a change. */
export function isChangeOnSite(
  change: { readonly oldAttributes: string | null; readonly newAttributes: string | null },
  siteId: string,
): boolean {
  return [change.oldAttributes, change.newAttributes].some(
    (json) => json !== null && isOnSite(JSON.parse(json) as AttributesOnSites, siteId),
  );
}

/** Names of a record's sites, as clients give them. */
export function siteNamesOf(
  { siteIds }: Pick<OnSites, "siteIds">,
  { nameOf }: Pick<SiteNames, "nameOf">,
): SiteIds {
  return siteIds === "all" ? "all" : siteIds.map(nameOf).filter((name) => name !== "");
}

/** A record's overrides by the names of their sites. */
export function overridesByName<O>(
  { overrides }: { readonly overrides: Readonly<Record<string, O>> },
  { nameOf }: Pick<SiteNames, "nameOf">,
): readonly (readonly [name: string, override: O])[] {
  return Object.entries(overrides)
    .map(([id, override]) => [nameOf(id), override] as const)
    .filter(([name]) => name !== "");
}

/** Path of a record on a site. */
export function pathOn({ path, overrides }: Omit<OnSites, "siteIds">, siteId: string): string {
  return overrides[siteId]?.path || path;
}

/** Paths of a record on all sites. */
export function pathsOf({ path, overrides }: Omit<OnSites, "siteIds">): string[] {
  return [path, ...Object.values(overrides).flatMap(({ path: own }) => (own === "" ? [] : [own]))];
}
