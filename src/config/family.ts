/** The families of sites whose drivers and settings are known here. */
export const FAMILIES = ["openlist", "alist"] as const;

export type Family = (typeof FAMILIES)[number];

/** What a deployment offers: what one family of sites knows, or everything. */
export const OFFERS = [...FAMILIES, "all"] as const;

export type Offer = (typeof OFFERS)[number];

/** Whether something that these families know is offered. Undefined: every family knows it. */
export function isOffered(families: readonly Family[] | undefined, offer: Offer): boolean {
  return families === undefined || offer === "all" || families.includes(offer);
}

/** Options of several families as one list, each once. */
export function unionOf(...lists: readonly (string | undefined)[]): string {
  const all = lists.filter((list) => list !== undefined && list !== "");
  return [...new Set(all.flatMap((list) => list?.split(",") ?? []))].join(",");
}
