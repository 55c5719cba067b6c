/**
 * Shares a look among all who ask for one in the same turn of the event loop. It is made at the end of
 * the turn, and so sees whatever had happened when any of them asked; and all of them go on together,
 * which costs a busy process half as much as one by one
 * (docs/decisions/0016-calls-of-a-turn-together.md).
 *
 * @returns what the look has given, or its failure, to each who asked.
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
 * Runs work once at a time. Who asks while it runs gets the next run, which all of them share: the
 * present one may have begun before what they ask for.
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
