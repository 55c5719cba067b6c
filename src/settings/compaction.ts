import { type Periodic, pauseFor, startPeriodic } from "../periodic.ts";
import type { Retention, SettingStore } from "./store.ts";

/** Rows that are forgotten in one transaction: so few that no save notices. */
const STEP = 200;
/** Between two steps of those that are too many, in milliseconds. */
const PAUSE = 50;

export interface CompactionDeps {
  /** Names it among what is done now and then. */
  readonly task: string;
  readonly claimTurn: SettingStore["claimTurn"];
  /** Forgets the oldest beyond the retention, `step` at most. @returns how many. */
  readonly forget: (retention: Retention, step: number) => Promise<number>;
  /** Revisions, or rows, that are kept at most. */
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
 * Forgets what is old in the background, in small steps, one process at a time. What is too many goes at
 * once. What is too old goes by one step in an interval: a clock that is wrong for a while costs a few
 * steps and not the history.
 */
export function startCompaction(deps: CompactionDeps): Periodic {
  const { task, claimTurn, forget, maxCount, maxAge, interval, now, onError } = deps;
  const compact = async (signal: AbortSignal): Promise<void> => {
    const begun = now();
    const tooMany = { count: maxCount, notBefore: 0 };
    while (!signal.aborted && (await forget(tooMany, STEP)) === STEP) await pauseFor(PAUSE, signal);
    const tooOld = { count: Number.POSITIVE_INFINITY, notBefore: begun - maxAge };
    if (!signal.aborted) await forget(tooOld, STEP);
  };
  const claim = () => claimTurn(task, interval, now());
  return startPeriodic(compact, { interval, claim, onError });
}
