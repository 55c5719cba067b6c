import type { Retention, SettingStore } from "./store.ts";

/** Rows that are forgotten in one transaction: so few that no save notices. */
const STEP = 200;
/** Between two steps of those that are too many, in milliseconds. */
const PAUSE = 50;
/** Delay of each process after its scheduled run, in milliseconds: allows for clock differences. */
const SLACK = 100;

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
 *
 * @returns a function that ends it.
 */
export function startCompaction(deps: CompactionDeps): () => void {
  const { task, claimTurn, forget, maxCount, maxAge, interval } = deps;
  let timer: NodeJS.Timeout;
  let stopped = false;
  const wait = (delay: number): Promise<void> =>
    new Promise((resolve) => {
      timer = setTimeout(resolve, delay).unref();
    });
  const compact = async (): Promise<void> => {
    const now = deps.now();
    if (!(await claimTurn(task, interval, now))) return;
    const tooMany = { count: maxCount, notBefore: 0 };
    while (!stopped && (await forget(tooMany, STEP)) === STEP) await wait(PAUSE);
    const tooOld = { count: Number.POSITIVE_INFINITY, notBefore: now - maxAge };
    if (!stopped) await forget(tooOld, STEP);
  };
  const run = async (): Promise<void> => {
    while (!stopped) {
      await wait(interval + SLACK);
      if (stopped) return;
      await compact().catch((error: unknown) => {
        if (!stopped) deps.onError(error);
      });
    }
  };
  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
