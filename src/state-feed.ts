import { memoize } from "./memoize.ts";
import { type Periodic, startPeriodic } from "./periodic.ts";
import { createWaiter } from "./waiter.ts";

/** Minimum time between two wakes of the streams after changes, in milliseconds. */
const GAP = 50;
/** Time for which a state without streams is kept with its messages, in milliseconds. */
const KEPT = 10_000;

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
  const { read, isCurrent = () => true, interval, stopping, ended } = deps;
  const waiter = createWaiter();
  let last: { readonly state: S } | undefined;
  let isStale = true;
  let reading: Promise<S> | undefined;
  let waking: NodeJS.Timeout | undefined;
  let isChanged = false;
  let streams = 0;
  let polling: Periodic | undefined;
  let forgetting: NodeJS.Timeout | undefined;

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
  const isFresh = (): boolean => !isStale && last !== undefined && isCurrent(last.state);
  const current = async (): Promise<S> => {
    // A read in progress may have begun before the change that this call needs.
    if (reading !== undefined) await reading;
    if (last !== undefined && isFresh()) return last.state;
    reading ??= refresh().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const wake = (): void => {
    isChanged = true;
    // Changes within the gap wake the streams once, at its end.
    if (waking !== undefined) return;
    isChanged = false;
    waiter.notify();
    const due = (): void => {
      waking = undefined;
      if (isChanged) wake();
    };
    waking = setTimeout(due, GAP).unref();
  };
  const poll = async (): Promise<void> => {
    const before = last?.state;
    isStale = true;
    if ((await current()) !== before) waiter.notify();
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
    if (interval !== undefined) isStale = true;
    const forget = (): void => {
      last = undefined;
    };
    forgetting = setTimeout(forget, KEPT).unref();
  };
  return {
    changed: () => {
      isStale = true;
      if (streams > 0) wake();
    },
    async *watch(view, signal) {
      const waiting = waiter.join([signal, stopping]);
      begin();
      try {
        if (stopping.aborted) throw ended();
        let seen = await current();
        yield await view.first(seen);
        for (;;) {
          await waiting.next();
          if (signal.aborted) return;
          if (stopping.aborted) throw ended();
          const next = await current();
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

/** State of named items. An item is the same object until it changes. */
export interface Collection<I> {
  readonly items: ReadonlyMap<string, I>;
}

/** Items for a message. */
export interface Difference<I> {
  readonly changed: readonly I[];
  /** As they were last sent. */
  readonly removed: readonly I[];
}

/** @param isVisible whether the view shows an item. Default: all. */
export function createView<S extends Collection<I>, I, M>(
  show: (difference: Difference<I>, state: S) => M | Promise<M>,
  isVisible?: (item: I) => boolean,
): View<S, M> {
  const visible = memoize((state: S): ReadonlyMap<string, I> => {
    if (isVisible === undefined) return state.items;
    return new Map([...state.items].filter(([, item]) => isVisible(item)));
  });
  return {
    first: memoize((state: S) =>
      show({ changed: [...visible(state).values()], removed: [] }, state),
    ),
    step: perPair((from: S, to: S) => {
      const before = visible(from);
      const after = visible(to);
      const changed = [...after].filter(([name, item]) => before.get(name) !== item);
      const removed = [...before].filter(([name]) => !after.has(name));
      if (changed.length === 0 && removed.length === 0) return undefined;
      return show(
        { changed: changed.map(([, item]) => item), removed: removed.map(([, item]) => item) },
        to,
      );
    }),
  };
}

/** Memoizes a function of two states. */
export function perPair<S extends object, M>(
  compute: (from: S, to: S) => M,
): (from: S, to: S) => M {
  const from = memoize((before: S) => memoize((after: S) => compute(before, after)));
  return (before, after) => from(before)(after);
}
