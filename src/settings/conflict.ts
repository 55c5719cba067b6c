import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Draft } from "./draft.ts";
import type { Rights } from "./rights.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RevisionSummary, SettingStore } from "./store.ts";

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

/** Precondition of a client on one setting. */
export interface Expectation {
  readonly key: string;
  /** Revision after which the setting must be unchanged; undefined: no precondition. */
  readonly expectedRevision?: number | undefined;
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
