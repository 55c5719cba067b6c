import { Code } from "@connectrpc/connect";
import { denied, invalid, rejectViolations, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { covers, createGrant, type Grant, grantProblems } from "./grant.ts";
import type { AccessTransaction } from "./store.ts";

const DAY = 24 * 3_600_000;
/** Default lifetime of a token, in milliseconds. */
const DEFAULT_LIFE = 90 * DAY;
/** Default time that a rotated token remains valid, in milliseconds. */
const DEFAULT_OVERLAP = DAY;
const MAX_OVERLAP = 30 * DAY;
const MAX_TOKENS = 100_000;
const MAX_COMMENT = 200;

/** @throws INVALID_ARGUMENT; PERMISSION_DENIED for rights that the caller lacks. */
export function checkRights(
  scopes: readonly string[],
  limits: readonly string[],
  holder: Grant,
): void {
  rejectViolations(grantProblems(scopes, limits));
  const given = createGrant(scopes, limits);
  if (covers(holder, given)) return;
  const missing = given.scopes.filter((scope) => !holder.has(scope));
  throw denied(message("SCOPES_NOT_HELD", { scopes: missing.join(", ") }));
}

/** @throws INVALID_ARGUMENT. */
export function checkComment(comment: string): void {
  if (comment.length > MAX_COMMENT)
    throw invalid([
      { field: "comment", description: message("COMMENT_TOO_LONG", { most: MAX_COMMENT }) },
    ]);
}

/** Requested expiry of a token. */
export interface Lifetime {
  /** Milliseconds since 1970 UTC; undefined: in 90 days. */
  readonly expiresAt: number | undefined;
  readonly neverExpires: boolean;
}

/**
 * Expiry of a new token, in milliseconds since 1970 UTC; null: never.
 *
 * @throws INVALID_ARGUMENT.
 */
export function endOf({ expiresAt, neverExpires }: Lifetime, now: number): number | null {
  if (neverExpires && expiresAt !== undefined)
    throw invalid([{ field: "never_expires", description: message("EXPIRY_AMBIGUOUS") }]);
  if (neverExpires) return null;
  if (expiresAt !== undefined) checkEnd(expiresAt, now);
  return expiresAt ?? now + DEFAULT_LIFE;
}

/** @throws INVALID_ARGUMENT for an invalid expiry. */
export function checkEnd(end: number, now: number): void {
  if (end <= now)
    throw invalid([
      {
        field: "expire_time",
        description: message("EXPIRY_IN_PAST", { now: new Date(now).toISOString() }),
      },
    ]);
}

/**
 * Time that a token remains valid beside its successor, in milliseconds.
 *
 * @throws INVALID_ARGUMENT.
 */
export function overlapOf(asked: number | undefined): number {
  const overlap = asked ?? DEFAULT_OVERLAP;
  if (overlap >= 0 && overlap <= MAX_OVERLAP) return overlap;
  throw invalid([{ field: "overlap", description: message("OVERLAP_INVALID") }]);
}

/** @throws RESOURCE_EXHAUSTED. */
export async function checkCount(transaction: AccessTransaction): Promise<void> {
  if ((await transaction.tokenCount()) >= MAX_TOKENS)
    throw new ServiceError(
      Code.ResourceExhausted,
      message("TOO_MANY_TOKENS", { most: MAX_TOKENS }),
    );
}
