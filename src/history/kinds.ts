import { type Grant, outsideLimits } from "../access/grant.ts";
import type { StoredChange } from "../ledger/store.ts";
import { denied } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { ChangeHeader, RecordChange, RecordKind } from "./kind.ts";

/** A change with its kind and the name of its record. */
interface Classified<C extends ChangeHeader> {
  readonly kind: RecordKind;
  readonly record: string;
  readonly change: C;
}

/** Changes of one record. */
export interface RecordChanges<C extends ChangeHeader> {
  readonly kind: RecordKind;
  readonly record: string;
  readonly key: string;
  readonly changes: readonly C[];
}

/** All kinds of records together. */
export interface Kinds {
  readonly all: readonly RecordKind[];
  /** Records of changes, in the order in which they appear. Changes of no kind are left out. */
  records<C extends ChangeHeader>(changes: readonly C[]): readonly RecordChanges<C>[];
  /** Reports whether a caller may see a change. */
  canRead(grant: Grant, change: ChangeHeader): boolean;
  /** Reports whether the values of a change are hidden from a caller. */
  hides(grant: Grant, change: StoredChange): boolean;
  /** Reports whether a request of a caller may name the record with a key. */
  mayName(grant: Grant, key: string): boolean;
  /** Reports whether a caller may see all changes. */
  seesAll(grant: Grant): boolean;
  /** Rejects a caller who may see none of some changes. @throws PERMISSION_DENIED. */
  refuse(grant: Grant, changes: readonly ChangeHeader[]): void;
  /** Changes for display, one per record. */
  describe(changes: readonly StoredChange[]): readonly RecordChange[];
}

export function createKinds(all: readonly RecordKind[]): Kinds {
  const classify = <C extends ChangeHeader>(change: C): Classified<C> | undefined => {
    for (const kind of all) {
      const record = kind.recordOf(change);
      if (record !== undefined) return { kind, record, change };
    }
    return undefined;
  };
  const records: Kinds["records"] = (changes) => {
    const classified = changes.map(classify).filter((one) => one !== undefined);
    const byKey = Map.groupBy(classified, ({ kind, record }) => kind.keyOf(record));
    return [...byKey].map(([key, parts]) => {
      const { kind, record } = parts[0] as (typeof parts)[number];
      return { kind, record, key, changes: parts.map(({ change }) => change) };
    });
  };
  return {
    all,
    records,
    canRead: (grant, change) => {
      const { kind } = classify(change) ?? {};
      return kind !== undefined && hasScope(grant, kind.scopes.read) && kind.allows(grant, change);
    },
    hides: (grant, change) => classify(change)?.kind.hides(grant, change) ?? true,
    mayName: (grant, key) =>
      all.some(({ name, mayName }) =>
        mayName(grant, key.startsWith(`${name}:`) ? key.slice(name.length + 1) : key),
      ),
    seesAll: (grant) =>
      grant.limits.length === 0 && all.every(({ scopes }) => hasScope(grant, scopes.read)),
    refuse: (grant, changes) => {
      if (grant.limits.length > 0) throw outsideLimits(grant);
      for (const { kind } of records(changes))
        if (!hasScope(grant, kind.scopes.read)) throw scopeMissing(kind.scopes.read);
    },
    describe: (changes) =>
      records(changes).map(({ kind, record, changes: own }) => kind.describe(record, own)),
  };
}

/** Reports whether a caller has a scope. @param scope undefined: none is needed. */
export function hasScope(grant: Grant, scope: string | undefined): boolean {
  return scope === undefined || grant.has(scope);
}

export function scopeMissing(scope = "") {
  return denied(message("SCOPE_MISSING", { scope }));
}
