import type { AuditEntry } from "../../store/audit-store.ts";
import type { RevisionCommit, RevisionOrigin } from "../../store/setting-store.ts";
import { tokenIdOf } from "../access/actor.ts";

/** Who does something, and by which call. */
export type AuditOrigin = Omit<RevisionOrigin, "reason">;

/** What the audit says of something that was done. */
const OK = "OK";

/**
 * The row of something that was done.
 *
 * @param time milliseconds since 1970 UTC.
 * @param subjects names of what it was about.
 * @param detail never a secret value.
 */
export function doneEntry(
  origin: AuditOrigin,
  time: number,
  subjects: readonly string[],
  detail: AuditEntry["detail"],
): AuditEntry {
  const { actor, door, method, peer, requestId } = origin;
  const tokenId = tokenIdOf(actor);
  return { time, actor, tokenId, door, method, peer, requestId, outcome: OK, subjects, detail };
}

/** The row of a change of settings. */
export function revisionEntry(commit: RevisionCommit): AuditEntry {
  const { time, revision, reason, changes } = commit;
  const keys = changes.map(({ key }) => key);
  const why = reason === "" ? {} : { reason };
  return doneEntry(commit, time, keys, { revision, keys: keys.length, ...why });
}
