/**
 * Most that a pause is longer than its interval, in milliseconds and as a share of it. Half of it at
 * least: a turn that any process took an interval ago is over by every clock. The rest is random, so that
 * processes that start together spread out.
 */
const JITTER = 100;
const JITTER_SHARE = 0.1;

/** Work that one process repeats in the background. */
export interface Periodic {
  /**
   * Runs the work at once, or once more after the run in progress: that one may have begun before the
   * reason for this one. All calls during a run share the next one. Never rejects.
   */
  readonly run: () => Promise<void>;
  /** Begins no run any more and aborts the signal. Resolves at the end of the run in progress. */
  readonly stop: () => Promise<void>;
}

export interface PeriodicOptions {
  /** Least pause between the end of a run and the next one, in milliseconds. */
  readonly interval: number;
  /** Receives the failure of a run, once for equal failures in a row, and none after `stop`. */
  readonly onError: (error: unknown) => void;
  /** Takes the turn of this work among all processes; a run without it is skipped. Default: taken. */
  readonly claim?: () => Promise<boolean>;
  /** From 0 to below 1. Default: Math.random. */
  readonly random?: () => number;
}

/**
 * Repeats work with a pause after each run, so that no two runs overlap. The first run comes after a
 * pause, or by `run`. Keeps no process alive.
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

/** Waits, or returns at an aborted signal. @param delay milliseconds. Keeps no process alive. */
export function pauseFor(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, delay).unref();
    if (signal.aborted) done();
    else signal.addEventListener("abort", done);
  });
}

/**
 * Waits for a promise, but no longer than `delay` milliseconds. Keeps no process alive and leaves no timer.
 *
 * @returns the promise's value; undefined after the time.
 */
export async function waitAtMost<T>(delay: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, delay, undefined).unref();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
