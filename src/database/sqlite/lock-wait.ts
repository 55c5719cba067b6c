import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../error.ts";

/** How long a lock of another process is waited for by default, in milliseconds. */
const LOCK_WAIT = 5_000;

/**
 * Does work, again and again while another process has the lock, without blocking the event loop.
 * SQLite's own waiting blocks it, and for some steps does not wait at all, such as the change to
 * write-ahead logging.
 *
 * @param failureOf what to throw for an error.
 * @param lockWait in milliseconds; default 5,000.
 * @throws what failureOf gives; `busy` only after lockWait.
 */
export async function untilUnlocked<T>(
  work: () => T | Promise<T>,
  failureOf: (error: unknown) => unknown,
  lockWait = LOCK_WAIT,
): Promise<T> {
  const giveUp = Date.now() + lockWait;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const failure = failureOf(error);
      const isBusy = failure instanceof StoreError && failure.failure === "busy";
      if (!isBusy || Date.now() > giveUp) throw failure;
      // Not all at the same moment.
      await sleep(2 + Math.random() * 8);
    }
  }
}
