import { Code } from "@connectrpc/connect";
import { explainConflict, RevisionConflict } from "../ledger/conflict.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Skipped } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import type { Rights } from "./rights.ts";
import { MASK } from "./value.ts";

/** Change of one setting, with the revisions that its client relies on. */
export interface Expectation {
  readonly key: string;
  /** New value; undefined: unchanged. */
  readonly value?: string | undefined;
  /** Precondition: the setting has not changed since this revision. */
  readonly expectedRevision?: number | undefined;
  /** Revision of the setting that the client has read. */
  readonly seenRevision?: number | undefined;
}

/** Reports whether a revision is expected of a setting that does not exist; needs no query. */
export function expectsAbsent(inputs: readonly Expectation[], base: Snapshot): boolean {
  return inputs.some((input) => isAbsent(input, base));
}

function isAbsent({ key, expectedRevision = 0 }: Expectation, base: Snapshot): boolean {
  return expectedRevision > 0 && base.get(SETTINGS, key) === undefined;
}

/**
 * Checks expectations on deleted settings, whose deletion is in the history only.
 *
 * @throws ABORTED when a setting was deleted after the expected revision.
 */
export async function refuseDeleted(
  inputs: readonly Expectation[],
  base: Snapshot,
  store: Pick<LedgerStore, "listRevisions">,
  rights?: Rights,
): Promise<void> {
  for (const input of inputs.filter((one) => isAbsent(one, base))) {
    const { key, expectedRevision = 0 } = input;
    const [last] = await store.listRevisions({ key, limit: 1 });
    if (last !== undefined && last.revision > expectedRevision)
      throw await explainConflict(new RevisionConflict(expectedRevision, key), store, rights);
  }
}

/** Like refuseDeleted, for settings that were deleted after the history was read. */
export function refuseDeletedSince(
  draft: Draft,
  inputs: readonly Expectation[],
  base: Snapshot,
): void {
  for (const { key, expectedRevision = 0 } of inputs)
    if (
      expectedRevision > 0 &&
      base.get(SETTINGS, key) !== undefined &&
      draft.get(SETTINGS, key) === undefined
    )
      throw new RevisionConflict(expectedRevision, key);
}

/** The history has grown between its reading and the decision: retry. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Reports whether something has changed since it was read: only then the history is needed. */
export function hasStale(inputs: readonly Expectation[], base: Snapshot): boolean {
  return isPage(inputs, base) && inputs.some((input) => isStale(input, base));
}

/** Inputs of a save, and those that are not saved. */
export interface Settled<Input> {
  readonly inputs: readonly Input[];
  readonly outdated: readonly Skipped[];
}

/**
 * Separates items that a page sends back unchanged although another caller has changed them since
 * the page read them. A caller knows the values that it has saved itself: what it sends after its
 * own save is compared with that save, not with the read before it, so that a value can be set back
 * from the same page.
 *
 * This applies to saves of several settings of one group, as pages send them. A single setting is
 * meant as it is sent; a list of several groups is a restored backup, of which every value counts.
 *
 * @throws RevisionConflict when the history no longer has the values that the caller knows.
 */
export async function withoutStale<Input extends Expectation>(
  sent: readonly Input[],
  base: Snapshot,
  deps: {
    readonly store: Pick<LedgerStore, "firstChanges" | "lastChangesBy" | "oldestRevision">;
    readonly fingerprint: Fingerprint;
    /** The caller: name with the id of the token. */
    readonly actor: string;
  },
): Promise<Settled<Input>> {
  if (!isPage(sent, base)) return { inputs: sent, outdated: [] };
  const { store, fingerprint } = deps;
  const read = sent
    .filter((input) => isStale(input, base))
    .map(({ key, seenRevision: after = 0 }) => ({ key, after }));
  const own = await store.lastChangesBy(deps.actor, read, base.revision);
  const knownOf = ({ key, seenRevision = 0 }: Expectation) =>
    Math.max(seenRevision, own.get(key) ?? 0);
  const stale = sent.filter(
    (input) => isStale(input, base) && isStale({ ...input, seenRevision: knownOf(input) }, base),
  );
  const asked = stale.map((input) => ({ key: input.key, after: knownOf(input) }));
  const found = await store.firstChanges(asked, base.revision);
  // After the read of the changes, the oldest of which may be deleted at any time.
  const oldest = await store.oldestRevision();
  const kept = found.filter(({ after }) => after + 1 >= oldest);
  const firstOf = new Map(kept.map(({ key, after, change }) => [`${after} ${key}`, change]));
  const unchanged = new Set<Input>();
  for (const input of stale) {
    const { key } = input;
    const known = knownOf(input);
    const change = firstOf.get(`${known} ${key}`);
    const unset = known === 0 ? base.get(SETTINGS, key)?.definition?.default : undefined;
    const value = change?.oldBody ?? unset;
    const isKnown = change !== undefined || unset !== undefined;
    // The value that was read is no longer in the history: accepting could revert a change by
    // another client.
    if (!isKnown) throw new RevisionConflict(known, key);
    const isSame =
      change?.oldHash === null || change?.oldHash === undefined
        ? value === input.value
        : fingerprint.isOf(change.oldHash, input.value ?? "");
    // The key of the hash is no longer known.
    if (isSame === undefined) throw new RevisionConflict(known, key);
    if (isSame) unchanged.add(input);
  }
  return {
    inputs: sent.filter((input) => !unchanged.has(input)),
    outdated: [...unchanged].map(({ key }) => ({
      key,
      reason: message("CHANGED_SINCE_READ", { revision: base.get(SETTINGS, key)?.revision ?? 0 }),
      isOutdated: true,
    })),
  };
}

/** @throws Moved when a setting has changed since the history was read. */
export function refuseMoved(draft: Draft, inputs: readonly Expectation[], base: Snapshot): void {
  for (const { key, seenRevision } of inputs)
    if (
      seenRevision !== undefined &&
      draft.get(SETTINGS, key)?.revision !== base.get(SETTINGS, key)?.revision
    )
      throw new Moved();
}

function isStale({ key, value, seenRevision }: Expectation, base: Snapshot): boolean {
  const item = base.get(SETTINGS, key);
  if (seenRevision === undefined || item === undefined) return false;
  // A masked value is sent back unchanged.
  if (item.secret && value === MASK) return false;
  return item.revision > seenRevision && item.value !== value;
}

/** Reports whether a save may be that of a page: several settings of one group. */
function isPage(inputs: readonly Expectation[], base: Snapshot): boolean {
  return (
    inputs.length > 1 && new Set(inputs.map(({ key }) => base.get(SETTINGS, key)?.group)).size === 1
  );
}

/** Retries while other clients save the same settings at the same time. */
export async function retryWhileMoved<T>(attempt: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
      if (tries >= 10) throw new ServiceError(Code.Aborted, message("SAVED_ALL_THE_TIME"));
    }
  }
}
