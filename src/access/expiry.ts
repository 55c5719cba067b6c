import type { JobSlots } from "../database/job-slot.ts";
import { startPeriodic } from "../periodic.ts";
import type { AccessRegistry } from "./registry.ts";
import type { StoredToken } from "./store.ts";

const DAY = 24 * 3_600_000;
/** A token counts as expiring soon in the last fifth of its lifetime, at most SOON milliseconds before its end. */
const SOON = 14 * DAY;
const LAST_PART = 0.2;
/** Minimum lifetime of a token whose expiry is an incident: shorter ones are meant to expire. */
const LONG_LIFE = 7 * DAY;
/** Interval between notices about expiring tokens, in milliseconds; one of all processes sends them. */
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

/** Reports whether a token expires soon, or has expired, without a successor. */
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
  return tokensToRenew(registry, (token) => registry.isActive(token));
}

/**
 * Tokens that expire soon or have expired, were made for at least a week, and were neither replaced
 * nor revoked; the earliest first.
 */
export function unrenewedTokens(
  registry: Pick<AccessRegistry, "tokens" | "principalOf" | "now">,
): readonly ExpiringToken[] {
  return tokensToRenew(registry, (token, expiresAt) => {
    const isDisabled = (registry.principalOf(token)?.disabledAt ?? null) !== null;
    return token.revokedAt === null && !isDisabled && expiresAt - token.createdAt >= LONG_LIFE;
  });
}

/** Tokens that expire soon or have expired, and meet a condition; the earliest first. */
function tokensToRenew(
  registry: Pick<AccessRegistry, "tokens" | "principalOf" | "now">,
  meets: (token: StoredToken, expiresAt: number) => boolean,
): readonly ExpiringToken[] {
  const now = registry.now();
  return [...registry.tokens()]
    .flatMap((token): ExpiringToken[] => {
      const { id, expiresAt } = token;
      if (expiresAt === null || !expiresSoon(token, now) || !meets(token, expiresAt)) return [];
      return [
        { principal: registry.principalOf(token)?.name ?? "", tokenId: id, until: expiresAt },
      ];
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
 * Reports tokens that expire soon: immediately and then daily, in one of all processes.
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
