import { type Periodic, startPeriodic } from "./periodic.ts";
import { createTicks } from "./ticks.ts";
import { createWaiter } from "./waiter.ts";

/** Minimum time between two wakes of the streams after changes, in milliseconds. */
const WAKE_GAP = 50;
/** Time for which the state is kept after its last stream has ended, in milliseconds. */
const KEEP_TIME = 10_000;

/**
 * Messages of all streams that show the same part of a state in the same form. Both functions
 * return the same message object for the same states, which is encoded once per format.
 */
export interface View<S, M> {
  /** The whole state. */
  first(state: S): M | Promise<M>;
  /** @returns undefined when nothing that the view shows has changed. */
  step(from: S, to: S): M | undefined | Promise<M | undefined>;
}

/**
 * State that streams follow. It is read once after a change, whatever the number of streams, and a
 * slow stream skips states. No stream has a queue.
 */
export interface StateFeed<S> {
  /** Reports a change: the state is read again when a stream needs it. */
  changed(): void;
  /** Streams the whole state, then each difference, until the signal is aborted. */
  watch<M>(view: View<S, M>, signal: AbortSignal): AsyncIterable<M>;
}

export interface StateFeedDeps<S> {
  /**
   * Reads the state; reads do not overlap.
   *
   * @param before result of the previous read.
   * @returns `before` when nothing has changed.
   */
  readonly read: (before: S | undefined) => S | Promise<S>;
  /** Reports whether a state is current although `changed` was not called. Default: it is. */
  readonly isCurrent?: (state: S) => boolean;
  /** Interval of reading changes of other processes while there are streams, in milliseconds. */
  readonly interval?: number | undefined;
  /** Aborted when the streams are to end. */
  readonly stopping: AbortSignal;
  /** Error with which they end then. */
  readonly ended: () => Error;
}

export function createStateFeed<S>(deps: StateFeedDeps<S>): StateFeed<S> {
  const { interval, stopping, ended } = deps;
  const waiter = createWaiter();
  const kept = createKeptState(deps);
  const wake = oncePerGap(waiter.notify);
  let streams = 0;
  let polling: Periodic | undefined;
  let forgetting: NodeJS.Timeout | undefined;

  const poll = async (): Promise<void> => {
    const before = kept.last();
    kept.changed();
    if ((await kept.current()) !== before) waiter.notify();
  };
  const begin = (): void => {
    streams += 1;
    clearTimeout(forgetting);
    // While the state cannot be read, the streams stay open, and it is read again the next time.
    if (interval !== undefined) polling ??= startPeriodic(poll, { interval, onError: () => {} });
  };
  const end = (): void => {
    streams -= 1;
    if (streams > 0) return;
    void polling?.stop();
    polling = undefined;
    // Without streams nothing is read, and later changes of other processes are unknown.
    if (interval !== undefined) kept.changed();
    forgetting = setTimeout(kept.forget, KEEP_TIME).unref();
  };
  return {
    changed: () => {
      kept.changed();
      if (streams > 0) wake();
    },
    async *watch(view, signal) {
      const waiting = waiter.join([signal, stopping]);
      begin();
      try {
        if (stopping.aborted) throw ended();
        let seen = await kept.current();
        const first = await view.first(seen);
        // One stream begins in each tick: the whole state may be large, and many may begin at once.
        await createTicks().next();
        if (signal.aborted) return;
        yield first;
        for (;;) {
          await waiting.next();
          if (signal.aborted) return;
          if (stopping.aborted) throw ended();
          const next = await kept.current();
          if (next === seen) continue;
          const message = await view.step(seen, next);
          seen = next;
          if (message !== undefined) yield message;
        }
      } finally {
        waiting.close();
        end();
      }
    },
  };
}

/** State that is read when it is needed and was changed since the last read. */
interface KeptState<S> {
  current(): Promise<S>;
  /** The state as it was last read; undefined: none is kept. */
  last(): S | undefined;
  /** Reports a change. */
  changed(): void;
  forget(): void;
}

function createKeptState<S>({
  read,
  isCurrent = () => true,
}: Pick<StateFeedDeps<S>, "read" | "isCurrent">): KeptState<S> {
  let last: { readonly state: S } | undefined;
  let isStale = true;
  let reading: Promise<S> | undefined;
  const refresh = async (): Promise<S> => {
    isStale = false;
    try {
      const state = await read(last?.state);
      last = { state };
      return state;
    } catch (error) {
      isStale = true;
      throw error;
    }
  };
  return {
    current: async () => {
      // A read in progress may have begun before the change that this call needs.
      if (reading !== undefined) await reading;
      if (last !== undefined && !isStale && isCurrent(last.state)) return last.state;
      reading ??= refresh().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    last: () => last?.state,
    changed: () => {
      isStale = true;
    },
    forget: () => {
      last = undefined;
    },
  };
}

/** Calls a function at once, and once at the end of the gap after that if it is requested meanwhile. */
function oncePerGap(work: () => void): () => void {
  let waiting: NodeJS.Timeout | undefined;
  let isRequested = false;
  const run = (): void => {
    isRequested = true;
    if (waiting !== undefined) return;
    isRequested = false;
    work();
    const due = (): void => {
      waiting = undefined;
      if (isRequested) run();
    };
    waiting = setTimeout(due, WAKE_GAP).unref();
  };
  return run;
}
