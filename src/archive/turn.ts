/** Waiting work. */
interface Waiting {
  readonly begin: () => void;
}

/** Turns of costly work, one at a time. Those of the first queue go before those of the second. */
export interface Turns {
  /**
   * Waits for a turn.
   *
   * @param queue 0: the first one.
   * @param signal removes the work from its queue when it aborts.
   * @returns a function that ends the turn.
   * @throws the result of `full` when too much work waits; the reason of the signal.
   */
  take(queue: 0 | 1, signal?: AbortSignal): Promise<() => void>;
}

/**
 * @param most maximum length of each queue.
 * @param full creates the error for work above it.
 */
export function createTurns(most: number, full: () => Error): Turns {
  const queues: readonly [Set<Waiting>, Set<Waiting>] = [new Set(), new Set()];
  let isTaken = false;
  const end = (): void => {
    isTaken = false;
    for (const queue of queues)
      for (const next of queue) {
        queue.delete(next);
        next.begin();
        return;
      }
  };
  /** Each turn ends once. */
  const begin = (): (() => void) => {
    isTaken = true;
    let isOver = false;
    return () => {
      if (!isOver) end();
      isOver = true;
    };
  };
  return {
    take: (at, signal) => {
      signal?.throwIfAborted();
      const queue = queues[at];
      if (!isTaken) return Promise.resolve(begin());
      if (queue.size >= most) throw full();
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const abort = (): void => {
        queue.delete(waiting);
        reject(signal?.reason);
      };
      const waiting = {
        begin: (): void => {
          signal?.removeEventListener("abort", abort);
          resolve(begin());
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      queue.add(waiting);
      return promise;
    },
  };
}
