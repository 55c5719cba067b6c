import type { Grant } from "../access/grant.ts";
import { explainConflict, RevisionConflict } from "../ledger/conflict.ts";
import type { Draft } from "../ledger/draft.ts";
import type { History, HistoryStore } from "../ledger/history.ts";
import { changesAfter } from "../ledger/later.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { StoredChange } from "../ledger/store.ts";
import type { Changed, ChangeOrigin } from "../ledger/writer.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { RecordKind } from "./kind.ts";
import { hasScope, type Kinds, scopeMissing } from "./kinds.ts";
import type { RecordResult } from "./record-result.ts";
import { checkCount, readSelection, type Selection } from "./selection.ts";

export interface RestoreDeps {
  readonly ledger: Pick<Ledger, "snapshot" | "change" | "nameOf">;
  readonly history: Pick<History, "diff">;
  readonly store: Pick<HistoryStore, "listRevisions" | "knownKeys">;
  readonly fingerprint: Fingerprint;
  readonly kinds: Kinds;
}

/** Target revision of a restore, and the selected records. */
export interface RestoreRequest {
  /** Revision to go back to. */
  readonly to: number;
  /** Entries as in `readSelection`; empty: everything. */
  readonly only: readonly string[];
}

/** Caller of a restore: its rights, and its data for the history. */
export interface RestoreCaller {
  readonly grant: Grant;
  readonly origin: Omit<ChangeOrigin, "rights">;
}

export interface RestoreOptions {
  /** Required newest revision; ABORTED if anything has changed since. */
  readonly expectedRevision?: number | undefined;
  readonly dryRun?: boolean;
}

/** Result of a restore for one record. */
export interface RestoreResult extends Omit<RecordResult, "name"> {
  /** Name of the kind. */
  readonly kind: string;
  /** Key of the record; plural of the kind: records that the caller may not read. */
  readonly key: string;
}

/**
 * Restores everything that has changed after a revision, of all kinds, in one new revision.
 *
 * @throws NOT_FOUND for an unknown revision or name; OUT_OF_RANGE; ABORTED; PERMISSION_DENIED if
 *   nothing remains without a scope that the caller does not have; errors of the kinds.
 */
export type Restore = (
  request: RestoreRequest,
  caller: RestoreCaller,
  options?: RestoreOptions,
) => Promise<Changed<readonly RestoreResult[]>>;

export function createRestore(deps: RestoreDeps): Restore {
  const { ledger, history, store, fingerprint, kinds } = deps;
  const keysOf = (changes: readonly StoredChange[]): ReadonlySet<string> =>
    new Set(kinds.records(changes).map(({ key }) => key));
  return async ({ to, only }, { grant, origin }, { expectedRevision, dryRun = false } = {}) => {
    checkCount(only);
    // The history is read before the decision, while other saves continue.
    const base = ledger.snapshot();
    const before = await history.diff(to, base.revision, (change) => kinds.hides(grant, change));
    const selection = await readSelection(only, {
      kinds,
      grant,
      changed: keysOf(before.filter((change) => kinds.canRead(grant, change))),
      knownKeys: store.knownKeys,
    });
    const known = new Set(before.map(ledger.nameOf));
    const decide = (draft: Draft): Promise<readonly RestoreResult[]> => {
      if (expectedRevision !== undefined && expectedRevision !== draft.revision)
        throw new RevisionConflict(expectedRevision);
      // The database was replaced by an older one after the history was read.
      if (draft.revision < base.revision) throw new RevisionConflict(base.revision);
      const later = changesAfter(base, draft, fingerprint).filter(
        (change) => !known.has(ledger.nameOf(change)),
      );
      return restoreAll(draft, [...before, ...later], { kinds, grant, selection });
    };
    try {
      return await ledger.change(origin, decide, { dryRun });
    } catch (error) {
      throw error instanceof RevisionConflict
        ? await explainConflict(error, {
            store,
            nameOf: ledger.nameOf,
            rights: { canReadChange: (change) => kinds.canRead(grant, change) },
          })
        : error;
    }
  };
}

interface Restoring {
  readonly kinds: Kinds;
  readonly grant: Grant;
  readonly selection: Selection;
}

/**
 * Restores the selected records of all kinds.
 *
 * @throws PERMISSION_DENIED if there are records and the caller may restore none of them.
 */
async function restoreAll(
  draft: Draft,
  changes: readonly StoredChange[],
  { kinds, grant, selection }: Restoring,
): Promise<readonly RestoreResult[]> {
  const results: RestoreResult[] = [];
  for (const kind of kinds.all) {
    const own = changes.filter(
      (change) => change.kind === kind.kind.name && selection.has(kind, change.key),
    );
    if (own.length > 0) results.push(...(await restoreKind(draft, own, { kind, kinds, grant })));
  }
  const [first] = results;
  if (first?.refusal !== undefined && results.every(({ refusal }) => refusal !== undefined))
    throw first.refusal;
  return results;
}

async function restoreKind(
  draft: Draft,
  changes: readonly StoredChange[],
  { kind, kinds, grant }: Pick<Restoring, "kinds" | "grant"> & { readonly kind: RecordKind },
): Promise<readonly RestoreResult[]> {
  const { scopes } = kind;
  if (!hasScope(grant, scopes.read)) return [refused(kind, kind.plural, scopes.read)];
  const allowed = changes.filter((change) => kind.allows(grant, change));
  const outside = allowed.length < changes.length ? [outsideLimitsOf(kind)] : [];
  if (!hasScope(grant, scopes.restore)) {
    const keys = kinds.records(allowed).map(({ key }) => key);
    return [...keys.map((key) => refused(kind, key, scopes.restore)), ...outside];
  }
  const restored = await kind.restore(draft, allowed, grant);
  const results = restored.map(({ name, ...result }) => ({
    kind: kind.name,
    key: kind.keyOf(name),
    ...result,
  }));
  return [...results, ...outside];
}

const SKIPPED = { outcome: "skipped", differs: [] } as const;

/** Result for records that need a scope which the caller does not have. */
function refused({ name }: RecordKind, key: string, scope: string | undefined): RestoreResult {
  const refusal = scopeMissing(scope);
  return { ...SKIPPED, kind: name, key, note: refusal.text, refusal };
}

/** Result for all records of a kind that the limits of the caller hide. */
function outsideLimitsOf({ name, plural }: RecordKind): RestoreResult {
  return { ...SKIPPED, kind: name, key: plural, note: message("OTHERS_OUTSIDE_LIMITS") };
}
