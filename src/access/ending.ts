import { actorOf, doneEntry } from "../audit/entry.ts";
import type { JobSlots } from "../database/job.ts";
import { type Periodic, pauseFor, startPeriodic } from "../periodic.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore, AccessTransaction, StoredToken } from "./store.ts";

const DAY = 24 * 3_600_000;
/** A token counts as expiring soon in the last fifth of its lifetime, at most SOON milliseconds before its end. */
const SOON = 14 * DAY;
const LAST_PART = 0.2;
/** Interval between notices about expiring tokens, in milliseconds; one process sends them for all. */
const NOTICE_INTERVAL = DAY;
/** Interval between checks, in milliseconds. */
const CHECK_INTERVAL = 3_600_000;
/** Name of the job. */
const NOTICE_JOB = "tokens that end soon";
/** Maximum number of tokens in one notice. */
const MAX_NAMED = 20;

/** Token that expires soon and has no successor. */
export interface EndingToken {
  readonly principal: string;
  readonly tokenId: string;
  /** Milliseconds since 1970 UTC. */
  readonly until: number;
}

/** Reports whether a valid token expires soon without a successor. */
export function endsSoon({ createdAt, expiresAt, replacedBy }: StoredToken, now: number): boolean {
  if (expiresAt === null || replacedBy !== null) return false;
  return expiresAt - now <= Math.min(SOON, (expiresAt - createdAt) * LAST_PART);
}

/** Valid tokens that expire soon, the earliest first. */
export function endingTokens(
  registry: Pick<AccessRegistry, "tokens" | "isActive" | "principalOf" | "now">,
): readonly EndingToken[] {
  const now = registry.now();
  return [...registry.tokens()]
    .filter((token) => endsSoon(token, now) && registry.isActive(token))
    .map((token) => ({
      principal: registry.principalOf(token)?.name ?? "",
      tokenId: token.id,
      until: token.expiresAt ?? Number.POSITIVE_INFINITY,
    }))
    .sort((one, other) => one.until - other.until);
}

export interface EndingNoticeDeps {
  readonly store: JobSlots;
  readonly ending: () => readonly EndingToken[];
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /**
   * Called at most once a day. @param named the first tokens. @param count number of all tokens.
   */
  readonly notice: (named: readonly EndingToken[], count: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Reports tokens that expire soon: immediately and then daily, in one process for all.
 *
 * @returns a function that stops it.
 */
export function startEndingNotice(deps: EndingNoticeDeps): () => Promise<void> {
  const { store, ending, now, notice, onError } = deps;
  const look = async (): Promise<void> => {
    const tokens = ending();
    if (tokens.length === 0 || !(await store.tryAcquireJobSlot(NOTICE_JOB, NOTICE_INTERVAL, now())))
      return;
    notice(tokens.slice(0, MAX_NAMED), tokens.length);
  };
  const job = startPeriodic(look, { interval: CHECK_INTERVAL, onError });
  void job.run();
  return job.stop;
}

/** Tokens deleted in one transaction: few, so that saves are not delayed. */
const STEP = 50;
/** Pause between two transactions, in milliseconds. */
const PAUSE = 50;
/** Name of the job. */
const DELETION_JOB = "ended tokens";
/** Origin for the audit. */
const ORIGIN = { actor: "mooring", transport: "", method: "forget", peer: "", requestId: "" };

export interface ForgettingDeps {
  readonly store: Pick<AccessStore, "countEnded" | "transact">;
  readonly registry: Pick<AccessRegistry, "reread">;
  readonly tryAcquireJobSlot: JobSlots["tryAcquireJobSlot"];
  /** Retention of an ended token, in milliseconds of running time. */
  readonly age: number;
  /** Interval between checks, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes tokens that ended long ago, in the background, in one process at a time. Age is counted in
 * runs of this job, not by the clock: downtime and clock jumps do not age a token, so that deletion
 * may be late and is never early.
 */
export function startForgetting(deps: ForgettingDeps): Periodic {
  const { store, registry, tryAcquireJobSlot, age, interval, now, onError } = deps;
  const forget = async (signal: AbortSignal): Promise<void> => {
    const counted = await store.countEnded(now(), interval);
    let forgotten = 0;
    do {
      forgotten = await store.transact((transaction) =>
        forgetSome(transaction, counted - age, now()),
      );
      if (forgotten > 0) await registry.reread();
      if (forgotten === STEP) await pauseFor(PAUSE, signal);
    } while (forgotten === STEP && !signal.aborted);
  };
  const claim = () => tryAcquireJobSlot(DELETION_JOB, interval, now());
  return startPeriodic(forget, { interval, claim, onError });
}

/** @returns the number of deleted tokens. */
async function forgetSome(
  transaction: AccessTransaction,
  before: number,
  now: number,
): Promise<number> {
  const tokens = await transaction.endedBefore(before, STEP);
  if (tokens.length === 0) return 0;
  const audit = [];
  for (const token of tokens) {
    const principal = await transaction.principal(token.principalId);
    const subject = actorOf(principal?.name ?? "", token.id);
    audit.push(doneEntry(ORIGIN, now, [subject], endOf(token, principal?.disabledAt ?? null)));
  }
  await transaction.write({ forgotten: tokens.map(({ id }) => id), audit });
  return tokens.length;
}

/** Time and cause of a token's end: the earliest one. */
function endOf(
  { revokedAt, expiresAt, notAfter }: StoredToken,
  disabledAt: number | null,
): { readonly ended: string; readonly by: string } {
  const ends: readonly (readonly [by: string, time: number | null])[] = [
    ["revoked", revokedAt],
    ["expired", expiresAt],
    ["replaced", notAfter],
    ["principal disabled", disabledAt],
  ];
  const [by, time] = ends
    .flatMap(([how, at]) => (at === null ? [] : [[how, at] as const]))
    .reduce((first, other) => (other[1] < first[1] ? other : first));
  return { by, ended: new Date(time).toISOString() };
}
