/** Number of waits resolved in one event-loop tick; more would delay other work of the process. */
const RESUMED_PER_TICK = 250;

/** Event that streams wait for: new data, or the end of a source. */
export interface Waiter {
  /** Resolves the waits of all streams, at most 250 of them per event-loop tick, oldest first. */
  readonly notify: () => void;
  /** Registers a stream. Its waits end at `close` at the latest. */
  readonly join: (signals: readonly AbortSignal[]) => Waiting;
}

/** Registration of a stream at a waiter. */
export interface Waiting {
  /**
   * Waits for `notify` or an aborted signal. Resolves at once if either happened since the previous
   * wait. Notifications between two waits count as one, so a slow stream has no queue here.
   *
   * @param idle longest wait, in milliseconds; default: no limit.
   * @returns false when the wait ended by `idle`.
   */
  readonly next: (idle?: number) => Promise<boolean>;
  /** Removes the stream's listeners and timer. */
  readonly close: () => void;
}

/**
 * Creates a waiter for streams that read the next version of external data. A notification carries
 * no data: the stream compares versions after each wait, so none is missed and none is buffered.
 */
export function createWaiter(): Waiter {
  const streams = new Set<() => void>();
  return {
    notify: () => resumeInTurns([...streams]),
    join: (signals) => {
      let isNotified = false;
      let resume: ((notified: boolean) => void) | undefined;
      const wake = (): void => {
        isNotified = true;
        resume?.(true);
      };
      streams.add(wake);
      // Listeners are added once for all waits: adding one costs more than a wait.
      for (const signal of signals) signal.addEventListener("abort", wake);
      return {
        next: (idle) =>
          new Promise((resolve) => {
            let timer: NodeJS.Timeout | undefined;
            resume = (notified) => {
              resume = undefined;
              isNotified = false;
              clearTimeout(timer);
              resolve(notified);
            };
            if (isNotified || signals.some(({ aborted }) => aborted)) resume(true);
            else if (idle !== undefined) timer = setTimeout(resume, idle, false).unref();
          }),
        close: () => {
          streams.delete(wake);
          for (const signal of signals) signal.removeEventListener("abort", wake);
          resume?.(true);
        },
      };
    },
  };
}

function resumeInTurns(wakes: readonly (() => void)[]): void {
  for (const wake of wakes.slice(0, RESUMED_PER_TICK)) wake();
  const others = wakes.slice(RESUMED_PER_TICK);
  if (others.length > 0) setImmediate(resumeInTurns, others);
}
