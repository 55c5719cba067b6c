import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Rights } from "../settings/rights.ts";
import type { LedgerStore, RevisionSummary } from "./store.ts";

/** Maximum number of changes that the message names. */
const NAMED = 3;

/**
 * Conflict with the expected revision: something has changed since. A decision cannot read the
 * history; explainConflict adds the actor.
 */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
  /** The revision that the client expected. */
  readonly expected: number;
  /** Key of the setting that has changed; undefined: any. */
  readonly key: string | undefined;

  constructor(expected: number, key?: string) {
    super(`the settings have changed since revision ${expected}`);
    this.expected = expected;
    this.key = key;
  }
}

/** Rights to see changes of the history. */
type ChangeRights = Pick<Rights, "canReadChange">;

/**
 * Returns ABORTED with the changes since the expected revision, their times and actors.
 *
 * @param rights of the caller, which restrict the visible changes; undefined: all changes.
 */
export async function explainConflict(
  { expected, key }: RevisionConflict,
  store: Pick<LedgerStore, "listRevisions">,
  rights?: ChangeRights,
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
  rights: ChangeRights | undefined,
): string {
  const told = rights === undefined ? changes : changes.filter(rights.canReadChange);
  const keys = told.map(({ key }) => key);
  const listed = keys.length > NAMED ? `${keys.slice(0, NAMED).join(", ")} …` : keys.join(", ");
  return `revision ${revision} by ${actor} (${transport}) at ${new Date(time).toISOString()}: ${listed}`;
}
