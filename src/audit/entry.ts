import type { AuditEntry } from "./store.ts";

/** Name of a token's owner in history, streams and log: `PRINCIPAL/TOKEN-ID`. */
export function actorOf(principal: string, tokenId: string): string {
  return `${principal}/${tokenId}`;
}

/** Matches names of tokens only: names of principals and of other actors do not have this form. */
const FORM = /^([a-z0-9][a-z0-9._-]*)\/([0-9A-Za-z]{12})$/;

/** Token id in an actor's name; empty for other actors, such as `admin`. */
export function tokenIdOf(actor: string): string {
  return FORM.exec(actor)?.[2] ?? "";
}

/** The caller of an operation, and its call. */
export interface AuditOrigin {
  /** Name of the token, or of a component of the service. */
  readonly actor: string;
  readonly transport: string;
  /** The rpc, such as `SaveSettings`. */
  readonly method: string;
  readonly requestId: string;
  readonly peer: string;
}

/** Code of a completed call. */
const OK = "OK";

/**
 * Entry of a completed action.
 *
 * @param time milliseconds since 1970 UTC.
 * @param subjects names of the objects of the action.
 * @param detail never a secret value.
 */
export function doneEntry(
  origin: AuditOrigin,
  time: number,
  subjects: readonly string[],
  detail: AuditEntry["detail"],
): AuditEntry {
  const { actor, transport, method, peer, requestId } = origin;
  const tokenId = tokenIdOf(actor);
  return {
    time,
    actor,
    tokenId,
    transport,
    method,
    peer,
    requestId,
    outcome: OK,
    subjects,
    detail,
  };
}
