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
