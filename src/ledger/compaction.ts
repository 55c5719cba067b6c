import { pauseFor } from "../pause.ts";
import { type Periodic, startPeriodic } from "../periodic.ts";
import type { LedgerStore, Retention } from "./store.ts";

/** Rows deleted per transaction: few, so that saves are not delayed. */
const STEP = 200;
/** Pause between two transactions, in milliseconds. */
const PAUSE = 50;

export interface CompactionDeps {
  /** Name of the job. */
  readonly task: string;
  readonly tryAcquireJobSlot: LedgerStore["tryAcquireJobSlot"];
  /** Deletes the oldest rows beyond the retention, at most `step`. @returns the number of deleted rows. */
  readonly forget: (retention: Retention, step: number) => Promise<number>;
  /** Maximum number of revisions or rows. */
  readonly maxCount: number;
  /** Maximum age of a revision, in milliseconds. */
  readonly maxAge: number;
  /** Interval between runs, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes old revisions or rows in the background, in small steps, in one process at a time. Rows above
 * the maximum number are deleted at once; rows above the maximum age at most one step per interval, so
 * that a wrong clock cannot delete the history.
 */
export function startCompaction(deps: CompactionDeps): Periodic {
  const { task, tryAcquireJobSlot, forget, maxCount, maxAge, interval, now, onError } = deps;
  const compact = async (signal: AbortSignal): Promise<void> => {
    const begun = now();
    const tooMany = { count: maxCount, notBefore: 0 };
    while (!signal.aborted && (await forget(tooMany, STEP)) === STEP) await pauseFor(PAUSE, signal);
    const tooOld = { count: Number.POSITIVE_INFINITY, notBefore: begun - maxAge };
    if (!signal.aborted) await forget(tooOld, STEP);
  };
  const claim = () => tryAcquireJobSlot(task, interval, now());
  return startPeriodic(compact, { interval, claim, onError });
}
