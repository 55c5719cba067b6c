import type { ServiceError } from "../messages/error.ts";
import type { Text } from "../messages/message.ts";
import type { Effect } from "./effect.ts";

/** Result of a change, a restore or an import for one record. */
export interface RecordResult {
  /** Name of the record. */
  readonly name: string;
  readonly outcome: "created" | "changed" | "deleted" | "unchanged" | "skipped";
  /** Reason for which it was skipped, or a remark; empty: none. */
  readonly note: Text;
  /** Names of items that differ. */
  readonly differs: readonly string[];
  /** Names of items of the source, or of the restored state, that the record does not have. Default: none. */
  readonly leftOut?: readonly string[];
  /** Names of values of an import that stay as they are here, as in an archive. Default: none. */
  readonly kept?: readonly string[];
  /** Effects on running servers. Default: none. */
  readonly effects?: readonly Effect[];
  /** Whether the caller sent values for secrets that it may not read. Default: false. */
  readonly isGuess?: boolean;
  /** Error for a caller who has no right to restore it; absent: it has. */
  readonly refusal?: ServiceError;
}

/** A result. Members that are not given are empty. */
export function resultAs(
  name: string,
  outcome: RecordResult["outcome"],
  note: Text = "",
  given: Partial<Pick<RecordResult, "differs" | "leftOut" | "kept" | "refusal">> = {},
): RecordResult {
  return { name, outcome, note, differs: [], ...given };
}
