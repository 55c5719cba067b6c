import type { AuditEntry } from "./store.ts";

/** Name of a token's owner in history, streams and log: `PRINCIPAL/TOKEN-ID`. */
export function actorOf(principal: string, tokenId: string): string {
  return `${principal}/${tokenId}`;
}

/** A principal's name has no slash, and names of others have none, or something before it that it has not. */
const FORM = /^([a-z0-9][a-z0-9._-]*)\/([0-9A-Za-z]{12})$/;

/** The token's id in such a name; empty: it has none, as `admin` and parts of the program. */
export function tokenIdOf(actor: string): string {
  return FORM.exec(actor)?.[2] ?? "";
}

/** The caller of an operation, and its call. */
export interface AuditOrigin {
  /** The token's name, or the part of the program that acts. */
  readonly actor: string;
  readonly door: string;
  /** The rpc, such as `SaveSettings`. */
  readonly method: string;
  readonly requestId: string;
  readonly peer: string;
}

/** Code of a completed call. */
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
