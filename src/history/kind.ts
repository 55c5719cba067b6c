import type { Grant } from "../access/grant.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Item, Kind } from "../ledger/kind.ts";
import type { ChangeHeader, StoredChange } from "../ledger/store.ts";
import type { RecordResult } from "./record-result.ts";

/** Kind of records in the history: what people see of it and may restore. */
export interface RecordKind {
  /** Singular, as in `KIND:NAME`. */
  readonly name: string;
  /** The kind in the ledger. */
  readonly kind: Kind<Item>;
  /** Plural: all records of the kind. */
  readonly plural: string;
  /** Scopes that a caller needs in addition to those of the history; undefined: none. */
  readonly scopes: { readonly read?: string; readonly restore?: string };
  /** Key of a record for clients, unique over all kinds: its name in the ledger with a prefix. */
  keyOf(record: string): string;
  /** Name of the current record that a request names; undefined: none. */
  find(text: string, grant: Grant): string | undefined;
  /** Reports whether a request of a caller may name a record. */
  mayName(grant: Grant, text: string): boolean;
  /** Name in the ledger of a record that a request names. */
  storedKey(text: string): string;
  /** Reports whether the limits of a caller permit a change, before and after. */
  allows(grant: Grant, change: ChangeHeader): boolean;
  /** Reports whether a record was on a site before or after a change. Absent: records have no sites. */
  isOnSite?(change: ChangeHeader, siteId: string): boolean;
  /**
   * Reports whether the values of a change are hidden from a caller, who must not learn whether
   * they are equal.
   */
  hides(grant: Grant, change: StoredChange): boolean;
  /** Change for display, with secrets masked. */
  describe(change: StoredChange): RecordChange;
  /**
   * Restores records on a draft to their state before the changes.
   *
   * @param changes those that the caller may read.
   * @throws errors of rules that no record may break, such as unique names.
   */
  restore(
    draft: Draft,
    changes: readonly StoredChange[],
    grant: Grant,
  ): Promise<readonly RecordResult[]>;
}

/** Change of one record for display. Values of secrets are masked. */
export interface RecordChange {
  readonly key: string;
  readonly kind: "added" | "changed" | "deleted";
  /** Value before, of a record with one value. Undefined: it did not exist. */
  readonly oldValue?: string | undefined;
  /** Value after, of a record with one value. Undefined: it was deleted. */
  readonly newValue?: string | undefined;
  readonly secret: boolean;
  /** Changed items of a record with several; empty: a record with one value. */
  readonly items: readonly ItemChange[];
}

/** Change of one item of a record for display. */
export interface ItemChange {
  readonly name: string;
  readonly oldValue: string | undefined;
  readonly newValue: string | undefined;
  readonly secret: boolean;
}
