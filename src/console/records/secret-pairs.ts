import type { PairList } from "../components/pair-list.ts";

/** Replaces a secret in replies of the service. */
export const MASK = "********";

/**
 * Pairs without typed secrets, which are not kept in the browser: a stored secret stays, and a new
 * one is left out.
 *
 * @param before the pairs before the first key press.
 * @param isOpen reports whether values of this name are never secret.
 */
export function withoutSecrets(
  pairs: PairList,
  before: PairList,
  isOpen: (name: string) => boolean,
): { readonly pairs: PairList; readonly lost: readonly string[] } {
  const known = new Map(before);
  const isKept = ([name, value]: PairList[number]): boolean =>
    value === "" || value === known.get(name) || isOpen(name.trim());
  return {
    pairs: pairs.flatMap(([name, value]): PairList => {
      if (isKept([name, value])) return [[name, value]];
      const stored = known.get(name);
      return stored === undefined ? [] : [[name, stored]];
    }),
    lost: pairs.flatMap(([name, value]) => (isKept([name, value]) ? [] : [name.trim()])),
  };
}

/** `withoutSecrets` for the pairs of each site. */
export function withoutSecretsOfSites(
  bySite: ReadonlyMap<string, PairList>,
  before: ReadonlyMap<string, PairList>,
  isOpen: (name: string) => boolean,
) {
  const all = Array.from(
    bySite,
    ([site, pairs]) => [site, withoutSecrets(pairs, before.get(site) ?? [], isOpen)] as const,
  );
  return {
    pairs: new Map(all.map(([site, { pairs }]) => [site, pairs])),
    lost: all.flatMap(([site, { lost }]) => lost.map((name) => `${name} (${site})`)),
  };
}
