import type { Grant } from "../access/grant.ts";
import type { ChangeHeader, PartTexts, StoredChange, StoredRecord } from "./store.ts";

/** Amounts by the names of their limits, such as bytes. */
export type Amounts = Readonly<Record<string, number>>;

/** Record in memory. Frozen. */
export interface Item {
  /** Revision of the last change; 0: it is not stored. */
  readonly revision: number;
}

/**
 * Kind of records: the token by which snapshots and drafts are read, such as
 * `draft.get(PEOPLE, "ann")`. Its behaviour is in its `KindRules`.
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

/** Content of a record, with secrets in the clear. */
export interface Parts {
  /** Open part; null: the record has secret parts only. */
  readonly body: string | null;
  /** Short text that describes the record without its content. */
  readonly attributes: string;
  /** Secret parts by their names. */
  readonly secrets: PartTexts;
}

/** No secret parts. */
export const NO_SECRETS: PartTexts = Object.freeze({});

/** Records of any kind. */
export interface Records {
  get<I extends Item>(kind: Kind<I>, key: string): I | undefined;
}

/** Rules of a kind for the ledger. CONTRIBUTING.md, "A kind of record", lists its other places. */
export interface KindRules<I extends Item> {
  readonly kind: Kind<I>;
  /** Beginning of the names of its records where those of all kinds are listed, as in the audit. */
  readonly prefix: string;
  /** Subjects of a change for the audit, by name; the first is the record. */
  subjectsOf(change: StoredChange): readonly string[];
  /** Key of an item, unique within the kind. */
  keyOf(item: I): string;
  /** Place among items that are shown in the order in which they were added; 0: none. */
  positionOf(item: I): number;
  encode(item: I): Parts;
  /** @param record with its secret parts in the clear. */
  decode(record: StoredRecord): I;
  /** Attributes in the history, for rights and restoring; null: none are needed for this item. */
  historyAttributes(item: I): string | null;
  /** Reports whether two items are equal except for their revisions. */
  isSame(a: I, b: I): boolean;
  /** Amounts that an item adds to the totals. */
  amountsOf(item: I): Amounts;
  /** Keys that exist without being stored, in their order. */
  readonly known: readonly string[];
  /** Item of a key that is not stored; undefined: there is none. */
  absent(key: string): I | undefined;
  /** Reports whether the open part of a stored record is a secret now: it is sealed at the start. */
  isExposed(record: StoredRecord): boolean;
  /**
   * Reports whether a caller may see a change in the history: the record must be permitted before
   * and after.
   *
   * @param current the newest records.
   */
  canReadChange(grant: Grant, change: ChangeHeader, current: Records): boolean;
  /** Reports whether every process must have a change before its caller is answered. */
  isUrgent(change: StoredChange): boolean;
}

/** Rules of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: the rules and the items of one kind belong together.
export type AnyRules = KindRules<any>;
