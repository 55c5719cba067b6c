import { type Kysely, sql, type Transaction } from "kysely";
import { hasCome } from "../periodic.ts";
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

/** Stored leases. */
export interface LeaseStore {
  /**
   * Takes or renews a lease, which one process holds at a time.
   *
   * @param now milliseconds since 1970 UTC.
   * @param ttl lifetime in milliseconds.
   * @returns whether the holder has the lease.
   */
  lease(name: string, holder: string, now: number, ttl: number): Promise<boolean>;
  release(name: string, holder: string): Promise<void>;
}

/** Lifetime of a lease without renewal, and interval of renewals, in milliseconds. */
const TTL = 6_000;
const RENEWAL = 2_000;

/** Lease of this process. */
export interface Lease {
  isHeld(): boolean;
  /** Takes or renews it if a renewal is due. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

export interface LeaseOptions {
  readonly name: string;
  /** Unique name of this process. */
  readonly holder: string;
  readonly now: () => number;
  /** Interval of renewals in milliseconds. Default: 2,000. */
  readonly renewal?: number | undefined;
}

export function createLease(
  store: LeaseStore,
  { name, holder, now, renewal = RENEWAL }: LeaseOptions,
): Lease {
  let until = 0;
  let next = 0;
  return {
    // A margin: a process that could not renew stops before another one begins.
    isHeld: () => !hasCome(until - 1_000, { now: now(), longest: TTL }),
    renew: async () => {
      const at = now();
      if (!hasCome(next, { now: at, longest: renewal })) return;
      next = at + renewal;
      until = (await store.lease(name, holder, at, TTL)) ? at + TTL : 0;
    },
    release: async () => {
      until = 0;
      await store.release(name, holder);
    },
  };
}

type Db = Kysely<Database> | Transaction<Database>;

/** Holder of all job slots, which are not renewed. */
const NO_HOLDER = "";

/** Implements `JobSlots.tryAcquireJobSlot`: a slot is a lease of one interval without a holder. */
export function tryAcquireJobSlot(
  db: Db,
  job: string,
  interval: number,
  now: number,
): Promise<boolean> {
  return takeIfFree(db, { name: `turn:${job}`, holder: NO_HOLDER, now, ttl: interval, ahead: 2 });
}

/** Implements `LeaseStore.lease`. */
export function takeLease(
  db: Db,
  name: string,
  holder: string,
  now: number,
  ttl: number,
): Promise<boolean> {
  return takeIfFree(db, { name, holder, now, ttl, ahead: 10 });
}

/** Implements `LeaseStore.release`. */
export async function dropLease(db: Db, name: string, holder: string): Promise<void> {
  await db.deleteFrom("lease").where("name", "=", name).where("holder", "=", holder).execute();
}

interface Wanted {
  readonly name: string;
  readonly holder: string;
  readonly now: number;
  readonly ttl: number;
  /** A stored expiry at least this many times `ttl` in the future is ignored: the clock was set back. */
  readonly ahead: number;
}

/** One statement, so that one of several processes gets the lease. */
async function takeIfFree(db: Db, { name, holder, now, ttl, ahead }: Wanted): Promise<boolean> {
  const expires = now + ttl;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("lease")
    .values({ name, holder, expires })
    .onConflict((conflict) =>
      conflict
        .column("name")
        .doUpdateSet({ holder, expires })
        .where((eb) =>
          eb.or([
            ...(holder === NO_HOLDER ? [] : [eb("lease.holder", "=", holder)]),
            eb("lease.expires", "<=", sql.lit(now)),
            eb("lease.expires", ">=", sql.lit(now + ahead * ttl)),
          ]),
        ),
    )
    .executeTakeFirstOrThrow();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
