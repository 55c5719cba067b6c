import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { ChangeHeader, LedgerStore, RecordName, RevisionSummary } from "./store.ts";

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
  /** Record that has changed; undefined: any. */
  readonly record: RecordName | undefined;

  constructor(expected: number, record?: RecordName) {
    super(`the database has changed since revision ${expected}`);
    this.expected = expected;
    this.record = record;
  }
}

/** Rights to see changes of the history. */
interface ReadRights {
  canReadChange(change: ChangeHeader): boolean;
}

/**
 * Returns ABORTED with the changes since the expected revision, their times and actors.
 *
 * @param deps.rights of the caller, which restrict the visible changes; undefined: all changes.
 */
export async function explainConflict(
  { expected, record }: RevisionConflict,
  {
    store,
    nameOf,
    rights,
  }: {
    readonly store: Pick<LedgerStore, "listRevisions">;
    readonly nameOf: (record: RecordName) => string;
    readonly rights?: ReadRights | undefined;
  },
): Promise<ServiceError> {
  const newer = await store.listRevisions({ record, limit: NAMED });
  const since = newer.filter(({ revision }) => revision > expected);
  const what = record === undefined ? "the database" : nameOf(record);
  // Revisions of records that the caller may not see are not described.
  const seen =
    rights === undefined
      ? since
      : since.filter(({ changes }) => changes.some((each) => rights.canReadChange(each)));
  const reason =
    since.length === 0
      ? `revision ${expected} does not exist in this database`
      : [
          `${what} has changed since revision ${expected}`,
          seen.length === 0
            ? "changes outside the limits of this token"
            : seen.map((summary) => describe(summary, { nameOf, rights })).join("; "),
        ].join(": ");
  return new ServiceError(Code.Aborted, message("NOTHING_CHANGED", { reason }));
}

function describe(
  { revision, time, actor, transport, changes }: RevisionSummary,
  {
    nameOf,
    rights,
  }: {
    readonly nameOf: (record: RecordName) => string;
    readonly rights: ReadRights | undefined;
  },
): string {
  const shown = changes.filter((change) => rights?.canReadChange(change) ?? true);
  const keys = shown.map(nameOf);
  const listed = keys.length > NAMED ? `${keys.slice(0, NAMED).join(", ")} …` : keys.join(", ");
  return `revision ${revision} by ${actor} (${transport}) at ${new Date(time).toISOString()}: ${listed}`;
}
