import { type Kysely, sql, type Transaction } from "kysely";
import { hasCome } from "../periodic.ts";
import type { Database } from "./schema.ts";

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
/** Time before the expiry from which a process that could not renew no longer acts, in milliseconds. */
const MARGIN = 1_000;

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
    isHeld: () => !hasCome(until - MARGIN, { now: now(), longest: TTL }),
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

/** Holder of a lease that no process renews. */
export const NO_HOLDER = "";

interface WantedLease {
  readonly name: string;
  readonly holder: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  /** Lifetime in milliseconds. */
  readonly ttl: number;
  /**
   * A stored expiry at least this many lifetimes in the future is ignored: it was written before the
   * clock was set back.
   */
  readonly ahead: number;
}

/**
 * Takes a lease that is expired or has this holder. One statement, so that one of several processes
 * gets it.
 */
export async function takeIfFree(
  db: Db,
  { name, holder, now, ttl, ahead }: WantedLease,
): Promise<boolean> {
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
