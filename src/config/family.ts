/** Families of sites whose drivers and settings are known. */
export const FAMILIES = ["openlist", "alist"] as const;

export type Family = (typeof FAMILIES)[number];

/** Offer of a deployment: one family of sites, or all. */
export const OFFERS = [...FAMILIES, "all"] as const;

export type Offer = (typeof OFFERS)[number];

/** Reports whether the offer includes an item of these families. Undefined: all families. */
export function isOffered(families: readonly Family[] | undefined, offer: Offer): boolean {
  return families === undefined || offer === "all" || families.includes(offer);
}

/** Options of several families as one list, each once. */
export function unionOf(...lists: readonly (string | undefined)[]): string {
  const all = lists.filter((list) => list !== undefined && list !== "");
  return [...new Set(all.flatMap((list) => list?.split(",") ?? []))].join(",");
}
