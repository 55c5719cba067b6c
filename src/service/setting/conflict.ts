import { Code } from "@connectrpc/connect";
import type { RevisionSummary, SettingStore } from "../../store/setting-store.ts";
import { ServiceError } from "../error.ts";

/** Changes that the message names at most. */
const NAMED = 3;

/**
 * Something has changed since the revision that a change was made for. Who did it stands in the
 * history, which a decision cannot wait for: see explainConflict.
 */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
  /** The revision that the client expected. */
  readonly expected: number;
  /** The setting that has changed; undefined: any. */
  readonly key: string | undefined;

  constructor(expected: number, key?: string) {
    super(`something has changed since revision ${expected}`);
    this.expected = expected;
    this.key = key;
  }
}

/** ABORTED, saying what has changed since, when and by whom. */
export async function explainConflict(
  { expected, key }: RevisionConflict,
  store: Pick<SettingStore, "listRevisions">,
): Promise<ServiceError> {
  const newer = await store.listRevisions({ key, limit: NAMED });
  const since = newer.filter(({ revision }) => revision > expected);
  const what = key === undefined ? "the settings have" : `${key} has`;
  const told =
    since.length === 0
      ? `revision ${expected} is none that this database has come to`
      : `${what} changed since revision ${expected}: ${since.map(tell).join("; ")}`;
  return new ServiceError(
    Code.Aborted,
    `nothing was changed: ${told}. Read again, then decide anew`,
  );
}

function tell({ revision, time, actor, door, keys }: RevisionSummary): string {
  const listed = keys.length > NAMED ? `${keys.slice(0, NAMED).join(", ")} …` : keys.join(", ");
  return `revision ${revision} by ${actor} (${door}) at ${new Date(time).toISOString()}: ${listed}`;
}
