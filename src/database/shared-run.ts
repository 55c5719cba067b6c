/**
 * Shares one check among all calls of an event-loop tick. The check runs at the end of the tick, after
 * all of them, and all continue together, which takes half of the CPU time of separate checks in a
 * busy process (docs/decisions/0016-calls-of-a-turn-together.md).
 *
 * @returns a function whose result is that of the shared check, or its failure.
 */
export function oncePerTick<T>(look: () => T | Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  const endOfTurn = (): Promise<T> =>
    new Promise((resolve, reject) => {
      setImmediate(() => {
        shared = undefined;
        try {
          resolve(look());
        } catch (error) {
          reject(error);
        }
      });
    });
  return () => {
    shared ??= endOfTurn();
    return shared;
  };
}

/**
 * Serializes runs of `work`. Calls during a run share the next run, because the current one may
 * have begun before their change.
 */
export function oneAtATime<T>(work: () => Promise<T>) {
  let present: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    present = work().finally(() => {
      present = undefined;
    });
    return present;
  };
  return {
    isRunning: () => present !== undefined || next !== undefined,
    run: (): Promise<T> => {
      if (next !== undefined) return next;
      if (present === undefined) return begin();
      next = present.then(begin, begin);
      return next;
    },
  };
}
