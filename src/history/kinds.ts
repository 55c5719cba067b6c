import { type Grant, outsideLimits } from "../access/grant.ts";
import type { ChangeHeader, RecordName, StoredChange } from "../ledger/store.ts";
import { denied } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { RecordChange, RecordKind } from "./kind.ts";

/** A change with its kind. */
export interface KnownChange<C extends ChangeHeader> {
  readonly kind: RecordKind;
  /** Key of the record for clients. */
  readonly key: string;
  readonly change: C;
}

/** All kinds of records together. */
export interface Kinds {
  readonly all: readonly RecordKind[];
  /** Changes with their kinds; those of no kind are left out. */
  records<C extends ChangeHeader>(changes: readonly C[]): readonly KnownChange<C>[];
  /** Name in the ledger of the record with a key. */
  recordNamed(key: string): RecordName;
  /** Reports whether a caller may see a change. */
  canRead(grant: Grant, change: ChangeHeader): boolean;
  /** Reports whether a record was on a site before or after a change. */
  isOnSite(change: ChangeHeader, siteId: string): boolean;
  /** Reports whether the values of a change are hidden from a caller. */
  hides(grant: Grant, change: StoredChange): boolean;
  /** Reports whether a request of a caller may name the record with a key. */
  mayName(grant: Grant, key: string): boolean;
  /** Reports whether a caller may see all changes. */
  seesAll(grant: Grant): boolean;
  /** Rejects a caller who may see none of some changes. @throws PERMISSION_DENIED. */
  refuse(grant: Grant, changes: readonly ChangeHeader[]): void;
  /** Changes for display. */
  describe(changes: readonly StoredChange[]): readonly RecordChange[];
}

export function createKinds(all: readonly RecordKind[]): Kinds {
  const byName = new Map(all.map((each) => [each.kind.name, each]));
  const kindOf = ({ kind }: Pick<ChangeHeader, "kind">) => byName.get(kind);
  const records: Kinds["records"] = (changes) =>
    changes.flatMap((change) => {
      const kind = kindOf(change);
      return kind === undefined ? [] : [{ kind, key: kind.keyOf(change.key), change }];
    });
  // The longest prefix first: a kind without one has all other keys.
  const byPrefix = all
    .map(({ kind, keyOf }) => ({ kind, prefix: keyOf("") }))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  return {
    all,
    records,
    recordNamed: (key) => {
      const found = byPrefix.find(({ prefix }) => key.startsWith(prefix));
      return { kind: found?.kind.name ?? "", key: key.slice(found?.prefix.length) };
    },
    canRead: (grant, change) => {
      const kind = kindOf(change);
      return kind !== undefined && hasScope(grant, kind.scopes.read) && kind.allows(grant, change);
    },
    isOnSite: (change, siteId) => kindOf(change)?.isOnSite?.(change, siteId) === true,
    hides: (grant, change) => kindOf(change)?.hides(grant, change) ?? true,
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
    describe: (changes) => changes.flatMap((change) => kindOf(change)?.describe(change) ?? []),
  };
}

/** Reports whether a caller has a scope. @param scope undefined: none is needed. */
export function hasScope(grant: Grant, scope: string | undefined): boolean {
  return scope === undefined || grant.has(scope);
}

export function scopeMissing(scope = "") {
  return denied(message("SCOPE_MISSING", { scope }));
}
