import type { JobSlots } from "../database/job.ts";
import { startPeriodic } from "../periodic.ts";
import type { AccessRegistry } from "./registry.ts";
import type { StoredToken } from "./store.ts";

const DAY = 24 * 3_600_000;
/** A token counts as expiring soon in the last fifth of its lifetime, at most SOON milliseconds before its end. */
const SOON = 14 * DAY;
const LAST_PART = 0.2;
/** Interval between notices about expiring tokens, in milliseconds; one process sends them for all. */
const NOTICE_INTERVAL = DAY;
/** Interval between checks, in milliseconds. */
const CHECK_INTERVAL = 3_600_000;
/** Name of the job. */
const NOTICE_JOB = "tokens that expire soon";
/** Maximum number of tokens in one notice. */
const MAX_NAMED = 20;

/** Token that expires soon and has no successor. */
export interface ExpiringToken {
  readonly principal: string;
  readonly tokenId: string;
  /** Milliseconds since 1970 UTC. */
  readonly until: number;
}

/** Reports whether a valid token expires soon without a successor. */
export function expiresSoon(
  { createdAt, expiresAt, replacedBy }: StoredToken,
  now: number,
): boolean {
  if (expiresAt === null || replacedBy !== null) return false;
  return expiresAt - now <= Math.min(SOON, (expiresAt - createdAt) * LAST_PART);
}

/** Valid tokens that expire soon, the earliest first. */
export function expiringTokens(
  registry: Pick<AccessRegistry, "tokens" | "isActive" | "principalOf" | "now">,
): readonly ExpiringToken[] {
  const now = registry.now();
  return [...registry.tokens()]
    .filter((token) => expiresSoon(token, now) && registry.isActive(token))
    .map((token) => ({
      principal: registry.principalOf(token)?.name ?? "",
      tokenId: token.id,
      until: token.expiresAt ?? Number.POSITIVE_INFINITY,
    }))
    .sort((one, other) => one.until - other.until);
}

/** Minimum lifetime of a token whose end is an incident: shorter ones are meant to end. */
const LONG_LIFE = 7 * DAY;

/**
 * Tokens that expire soon or have expired, were made for at least a week, and were neither replaced
 * nor revoked; the earliest first.
 */
export function unrenewedTokens(
  registry: Pick<AccessRegistry, "tokens" | "principalOf" | "now">,
): readonly ExpiringToken[] {
  const now = registry.now();
  return [...registry.tokens()]
    .flatMap((token): ExpiringToken[] => {
      const { id, createdAt, expiresAt, revokedAt } = token;
      const principal = registry.principalOf(token);
      if (expiresAt === null || revokedAt !== null || !expiresSoon(token, now)) return [];
      if (expiresAt - createdAt < LONG_LIFE || (principal?.disabledAt ?? null) !== null) return [];
      return [{ principal: principal?.name ?? "", tokenId: id, until: expiresAt }];
    })
    .sort((one, other) => one.until - other.until);
}

export interface ExpiryNoticeDeps {
  readonly store: JobSlots;
  readonly expiring: () => readonly ExpiringToken[];
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /**
   * Called at most once a day. @param named the first tokens. @param count number of all tokens.
   */
  readonly notice: (named: readonly ExpiringToken[], count: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Reports tokens that expire soon: immediately and then daily, in one process for all.
 *
 * @returns a function that stops it.
 */
export function startExpiryNotice(deps: ExpiryNoticeDeps): () => Promise<void> {
  const { store, expiring, now, notice, onError } = deps;
  const notify = async (): Promise<void> => {
    const tokens = expiring();
    if (tokens.length === 0 || !(await store.tryAcquireJobSlot(NOTICE_JOB, NOTICE_INTERVAL, now())))
      return;
    notice(tokens.slice(0, MAX_NAMED), tokens.length);
  };
  const job = startPeriodic(notify, { interval: CHECK_INTERVAL, onError });
  void job.run();
  return job.stop;
}
