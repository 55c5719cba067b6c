/**
 * Maximum extension of a pause beyond its interval, in milliseconds and as a share of the interval.
 * Half of it is constant, so that a job slot taken one interval ago has expired by every clock. The
 * rest is random, so that processes that start together spread out.
 */
const JITTER = 100;
const JITTER_SHARE = 0.1;

/**
 * Reports whether a stored time of a next attempt has come. A time that is further ahead than the
 * longest pause was stored while the clock was ahead, and counts as come: no attempt waits for the
 * clock to reach it.
 */
export function hasCome(
  time: number,
  { now, longest }: { readonly now: number; readonly longest: number },
): boolean {
  return time <= now || time > now + longest;
}

/** Periodic work of a process in the background. */
export interface Periodic {
  /**
   * Runs the work at once, or after the run in progress, which may have begun too early to include
   * the caller's change. All calls during a run share the next one. Never rejects.
   */
  readonly run: () => Promise<void>;
  /** Prevents further runs and aborts the signal. Resolves at the end of the run in progress. */
  readonly stop: () => Promise<void>;
}

export interface PeriodicOptions {
  /** Minimum pause between the end of a run and the next one, in milliseconds. */
  readonly interval: number;
  /**
   * Called with the failure of a run, once for consecutive equal failures, and not after `stop`.
   */
  readonly onError: (error: unknown) => void;
  /**
   * Acquires the slot of this work among all processes; a run without it is skipped. Default:
   * acquired.
   */
  readonly claim?: () => Promise<boolean>;
  /** From 0 to below 1. Default: Math.random. */
  readonly random?: () => number;
}

/**
 * Repeats work with a pause after each run, so that no two runs overlap. The first run starts after
 * a pause, or by `run`. The timer does not keep the process alive.
 *
 * @param work receives a signal that aborts at `stop`.
 */
export function startPeriodic(
  work: (signal: AbortSignal) => unknown,
  { interval, onError, claim, random = Math.random }: PeriodicOptions,
): Periodic {
  const stopping = new AbortController();
  const { signal } = stopping;
  let present: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failure: string | undefined;

  const attempt = async (): Promise<void> => {
    try {
      if (claim === undefined || (await claim())) await work(signal);
      failure = undefined;
    } catch (error) {
      if (!signal.aborted && String(error) !== failure) onError(error);
      failure = String(error);
    }
  };
  const pause = (): void => {
    if (signal.aborted) return;
    const jitter = Math.min(JITTER, interval * JITTER_SHARE);
    timer = setTimeout(begin, interval + jitter * (0.5 + random() / 2)).unref();
  };
  const begin = (): Promise<void> => {
    next = undefined;
    clearTimeout(timer);
    if (signal.aborted) return Promise.resolve();
    const run = attempt().then(() => {
      present = undefined;
      if (next === undefined) pause();
    });
    present = run;
    return run;
  };
  pause();
  return {
    run: () => {
      if (present === undefined) return begin();
      next ??= present.then(begin);
      return next;
    },
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await present;
    },
  };
}
