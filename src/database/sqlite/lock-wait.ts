import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../error.ts";

/** Default wait for a lock of another process, in milliseconds. */
const LOCK_WAIT = 5_000;

/**
 * Repeats work while another process holds the lock, without blocking the event loop. SQLite's own
 * wait blocks it, and some steps do not wait at all, such as the change to write-ahead logging.
 *
 * @param failureOf converts an error to the one to throw.
 * @param lockWait in milliseconds; default: 5,000.
 * @throws the result of failureOf; `busy` only after lockWait.
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
      // Jitter.
      await sleep(2 + Math.random() * 8);
    }
  }
}
