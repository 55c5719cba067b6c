/** Lock for costly work: one at a time, and a bounded number that waits. */
export interface BoundedLock {
  /**
   * Runs work as soon as no other runs. Work of high priority runs before work that waits with a
   * normal one.
   *
   * @throws the error of `full` when too much work of this priority waits; the reason of the signal if
   *   it aborts while the work waits.
   */
  run<T>(work: () => Promise<T>, options?: LockOptions): Promise<T>;
}

export interface LockOptions {
  /** Default: `normal`. */
  readonly priority?: Priority;
  /** Removes work that waits. */
  readonly signal?: AbortSignal | undefined;
}

type Priority = "high" | "normal";

/**
 * @param maxWaiting maximum number of waiting work of each priority.
 * @param full creates the error for work above it.
 */
export function createBoundedLock(maxWaiting: number, full: () => Error): BoundedLock {
  /** Functions that pass the lock to waiting work, oldest first. */
  const waiting: Readonly<Record<Priority, Set<() => void>>> = {
    high: new Set(),
    normal: new Set(),
  };
  let isHeld = false;
  const acquire = async ({ priority = "normal", signal }: LockOptions): Promise<void> => {
    signal?.throwIfAborted();
    if (!isHeld) {
      isHeld = true;
      return;
    }
    const queue = waiting[priority];
    if (queue.size >= maxWaiting) throw full();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      queue.delete(resolve);
      reject(signal?.reason);
    };
    queue.add(resolve);
    signal?.addEventListener("abort", abort, { once: true });
    await promise.finally(() => signal?.removeEventListener("abort", abort));
  };
  const release = (): void => {
    for (const queue of [waiting.high, waiting.normal])
      for (const passLock of queue) {
        queue.delete(passLock);
        passLock();
        return;
      }
    isHeld = false;
  };
  return {
    run: async (work, options = {}) => {
      await acquire(options);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
