/**
 * Runs work with a signal that is aborted after a time limit or by the caller. After the time limit
 * its reason is a `TimeoutError`. The timer ends when the returned promise settles.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(timeUp()), timeoutMs);
  const signal = caller === undefined ? time.signal : AbortSignal.any([caller, time.signal]);
  try {
    return await run(signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a promise; an aborted signal rejects with its reason at once. */
export async function abortable<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  start(resolve, reject);
  return await promise.finally(() => signal.removeEventListener("abort", giveUp));
}

/** Reports whether a signal was aborted by a time limit, not canceled. */
export function isTimeUp(signal: AbortSignal): boolean {
  return signal.reason instanceof Error && signal.reason.name === "TimeoutError";
}

function timeUp(): DOMException {
  return new DOMException("the time limit has expired", "TimeoutError");
}
