/** Exclusive work by key: one at a time per key, a limited number of keys at once. */
export interface Queue {
  /**
   * Runs work after all earlier work with the same key.
   *
   * @param work may call `release` when it no longer needs its place among the keys; repeated calls
   *   have no effect.
   */
  run<T>(key: string, work: (release: () => void) => Promise<T>): Promise<T>;
  /** Resolves when the work that was given until now has ended. */
  idle(): Promise<void>;
}

/** @param most maximum number of keys with concurrent work. */
export function createQueue(most: number): Queue {
  const last = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let running = 0;
  /** Waits for a place. @returns a function that releases it. */
  const enter = async (): Promise<() => void> => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = waiting.shift();
      if (next !== undefined) next();
      else running -= 1;
    };
  };
  return {
    run: (key, work) => {
      const before = last.get(key) ?? Promise.resolve();
      const done = before.then(async () => {
        const release = await enter();
        try {
          return await work(release);
        } finally {
          release();
        }
      });
      const quiet = done.catch(() => undefined);
      last.set(key, quiet);
      void quiet.then(() => {
        if (last.get(key) === quiet) last.delete(key);
      });
      return done;
    },
    idle: async () => {
      await Promise.all(last.values());
    },
  };
}
