import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Draft } from "./draft.ts";
import type { Rights } from "./rights.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RevisionSummary, SettingStore } from "./store.ts";
import { MASK } from "./value.ts";

/** Maximum number of changes that the message names. */
const NAMED = 3;

/**
 * Conflict with the expected revision: the settings have changed since. A decision cannot read the
 * history; explainConflict adds the actor.
 */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
  /** The revision that the client expected. */
  readonly expected: number;
  /** The setting that has changed; undefined: any. */
  readonly key: string | undefined;

  constructor(expected: number, key?: string) {
    super(`the settings have changed since revision ${expected}`);
    this.expected = expected;
    this.key = key;
  }
}

/**
 * Returns ABORTED with the changes since the expected revision, their times and actors.
 *
 * @param rights of the caller, which restrict the visible changes; undefined: all changes.
 */
export async function explainConflict(
  { expected, key }: RevisionConflict,
  store: Pick<SettingStore, "listRevisions">,
  rights?: Rights,
): Promise<ServiceError> {
  const newer = await store.listRevisions({ key, limit: NAMED });
  const since = newer.filter(({ revision }) => revision > expected);
  const what = key === undefined ? "the settings have" : `${key} has`;
  // Revisions of settings that the caller may not see are not described.
  const seen =
    rights === undefined ? since : since.filter((each) => each.changes.some(rights.canReadChange));
  const told =
    since.length === 0
      ? `revision ${expected} does not exist in this database`
      : [
          `${what} changed since revision ${expected}`,
          seen.length === 0
            ? "settings outside of the limits of this token"
            : seen.map((summary) => tell(summary, rights)).join("; "),
        ].join(": ");
  return new ServiceError(Code.Aborted, message("NOTHING_CHANGED", { reason: told }));
}

function tell(
  { revision, time, actor, transport, changes }: RevisionSummary,
  rights: Rights | undefined,
): string {
  const told = rights === undefined ? changes : changes.filter(rights.canReadChange);
  const keys = told.map(({ key }) => key);
  const listed = keys.length > NAMED ? `${keys.slice(0, NAMED).join(", ")} …` : keys.join(", ");
  return `revision ${revision} by ${actor} (${transport}) at ${new Date(time).toISOString()}: ${listed}`;
}

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
  return expectedRevision > 0 && base.get(key) === undefined;
}

/**
 * Checks expectations on deleted settings, whose deletion is in the history only.
 *
 * @throws ABORTED when a setting was deleted after the expected revision.
 */
export async function refuseDeleted(
  inputs: readonly Expectation[],
  base: Snapshot,
  store: Pick<SettingStore, "listRevisions">,
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
    if (expectedRevision > 0 && base.get(key) !== undefined && draft.get(key) === undefined)
      throw new RevisionConflict(expectedRevision, key);
}

/** The history has grown between its reading and the decision: retry. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Reports whether something has changed since it was read: only then the history is needed. */
export function hasStale(inputs: readonly Expectation[], base: Snapshot): boolean {
  return inputs.some((input) => isStale(input, base));
}

/**
 * Removes items that a page sends back unchanged although another client has changed them since the
 * page read them.
 *
 * This applies to saves of one group, as pages send them. A list of several groups is a restored
 * backup, of which every value counts.
 *
 * @throws RevisionConflict when the history no longer has the values that were read.
 */
export async function withoutStale<Input extends Expectation>(
  inputs: readonly Input[],
  base: Snapshot,
  deps: {
    readonly store: Pick<SettingStore, "firstChanges" | "oldestRevision">;
    readonly fingerprint: Fingerprint;
  },
): Promise<readonly Input[]> {
  if (!isOneGroup(inputs, base)) return inputs;
  const stale = inputs.filter((input) => isStale(input, base));
  const unchanged = new Set<Input>();
  const asked = stale.map(({ key, seenRevision: after = 0 }) => ({ key, after }));
  const found = await deps.store.firstChanges(asked, base.revision);
  // After the read of the changes, the oldest of which may be deleted at any time.
  const oldest = await deps.store.oldestRevision();
  const kept = found.filter(({ after }) => after + 1 >= oldest);
  const firstOf = new Map(kept.map(({ key, after, change }) => [`${after} ${key}`, change]));
  for (const input of stale) {
    const { key, seenRevision: seen = 0 } = input;
    const change = firstOf.get(`${seen} ${key}`);
    const unset = seen === 0 ? base.get(key)?.definition?.default : undefined;
    const value = change?.oldValue ?? unset;
    const isKnown = change !== undefined || unset !== undefined;
    // The value that was read is no longer in the history: accepting could revert a change by
    // another client.
    if (!isKnown) throw new RevisionConflict(seen, key);
    const isSame =
      change?.oldHash === null || change?.oldHash === undefined
        ? value === input.value
        : deps.fingerprint.isOf(change.oldHash, input.value ?? "");
    // The key of the hash is no longer known.
    if (isSame === undefined) throw new RevisionConflict(seen, key);
    if (isSame) unchanged.add(input);
  }
  return inputs.filter((input) => !unchanged.has(input));
}

/** @throws Moved when a setting has changed since the history was read. */
export function refuseMoved(draft: Draft, inputs: readonly Expectation[], base: Snapshot): void {
  for (const { key, seenRevision } of inputs)
    if (seenRevision !== undefined && draft.get(key)?.revision !== base.get(key)?.revision)
      throw new Moved();
}

function isStale({ key, value, seenRevision }: Expectation, base: Snapshot): boolean {
  const item = base.get(key);
  if (seenRevision === undefined || item === undefined) return false;
  // A masked value is sent back unchanged.
  if (item.secret && value === MASK) return false;
  return item.revision > seenRevision && item.value !== value;
}

function isOneGroup(inputs: readonly Expectation[], base: Snapshot): boolean {
  return new Set(inputs.map(({ key }) => base.get(key)?.group)).size <= 1;
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
