/** Amounts by the names of their limits, such as bytes. */
export type Amounts = Readonly<Record<string, number>>;

/** Record in memory. Frozen. */
export interface Item {
  /** Revision of the last change; 0: it is not stored. */
  readonly revision: number;
}

/**
 * Kind of records: the token by which snapshots and drafts are read, such as
 * `draft.get(SETTINGS, "site_title")`. What is peculiar to a kind is in its rules.
 */
export interface Kind<I extends Item> {
  /** Name in the database. */
  readonly name: string;
  /** Type of the items; no value has it. */
  readonly item?: I;
}

/** Creates the token of a kind. */
export function kindNamed<I extends Item>(name: string): Kind<I> {
  return Object.freeze({ name });
}

/** What the ledger must know of a kind. */
export interface KindRules<I extends Item> {
  readonly kind: Kind<I>;
  /** Key of an item, unique within the kind. */
  keyOf(item: I): string;
  /** Order of items that were added later; 0 for those without an order. */
  positionOf(item: I): number;
  /** Reports whether two items are equal except for their revisions. */
  isSame(a: I, b: I): boolean;
  /** What an item adds to the totals. */
  amountsOf(item: I): Amounts;
}

/** Rules of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: the rules and the items of one kind belong together.
export type AnyRules = KindRules<any>;
