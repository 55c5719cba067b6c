import type { Kysely, Transaction } from "kysely";
import { NO_HOLDER, takeIfFree } from "./lease.ts";
import type { Database } from "./schema.ts";

/** Slots of periodic jobs that one process runs for all processes on a database. */
export interface JobSlots {
  /**
   * Acquires the slot of a periodic job that any process may run.
   *
   * @param job its name.
   * @param interval milliseconds until the slot is free again.
   * @param now milliseconds since 1970 UTC.
   * @returns whether the caller has acquired the slot.
   */
  tryAcquireJobSlot(job: string, interval: number, now: number): Promise<boolean>;
}

/**
 * Implements `JobSlots.tryAcquireJobSlot`: a slot is a lease of one interval without a holder, which is
 * not renewed.
 */
export function tryAcquireJobSlot(
  db: Kysely<Database> | Transaction<Database>,
  job: string,
  interval: number,
  now: number,
): Promise<boolean> {
  return takeIfFree(db, { name: `job:${job}`, holder: NO_HOLDER, now, ttl: interval, ahead: 2 });
}
