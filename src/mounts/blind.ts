import type { BlindSecret } from "../records/secret-place.ts";

/**
 * The blind items of a mount after a save.
 *
 * @param given secrets of the save; `site` undefined: of the mount itself.
 * @param revision of the save; undefined: the caller may read secrets, or has them from a site.
 */
export function blindAfter(
  before: readonly BlindSecret[] = [],
  given: readonly { readonly item: string; readonly site: string | undefined }[],
  revision: number | undefined,
): readonly BlindSecret[] {
  const places = given.map(({ item, site = "" }) => ({ item, site }));
  const kept = before.filter(
    (each) => !places.some(({ item, site }) => item === each.item && site === each.site),
  );
  return revision === undefined
    ? kept
    : [...kept, ...places.map((each) => ({ ...each, revision }))];
}

/**
 * Revisions of a mount's blind items on a site, by item.
 *
 * @param own items of the site's override, which replace those of the mount.
 */
export function blindOn(
  blind: readonly BlindSecret[] = [],
  site: string,
  own: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, number> {
  return new Map(
    blind
      .filter((each) => each.site === site || (each.site === "" && !Object.hasOwn(own, each.item)))
      .map(({ item, revision }) => [item, revision]),
  );
}
