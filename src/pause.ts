/**
 * Waits, or returns when the signal is aborted. @param delay in milliseconds. The timer does not
 * keep the process alive.
 */
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
 * Waits for a promise, at most `delay` milliseconds. The timer does not keep the process alive, and
 * ends with the promise.
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

/** Waits for a promise, or rejects with the reason of the signal when that is aborted. */
export function waitUnlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}
