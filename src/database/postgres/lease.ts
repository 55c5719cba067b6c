import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { StoreError } from "../error.ts";
import type { Database } from "../schema.ts";
import { FIRST_TIMELINE, TIMELINE } from "./server.ts";

/** Duration of a lease, in milliseconds. */
export const LEASE = 1_000;
/** Number of attempts to renew an expired lease while answers arrive too late. */
const ATTEMPTS = 3;
/** Interval of checks whether all others have seen a change, in milliseconds. */
const SEEN_AGAIN = 10;
/** Limit of these checks, in milliseconds: no valid lease lasts so long. */
const SEEN_AT_MOST = 5_000;

const LEASE_INTERVAL = sql.raw(`interval '${LEASE} ms'`);

/** Newest numbers in the database. */
export interface Head {
  readonly revision: number;
  /** Version of the access tables. */
  readonly access: number;
  readonly timeline: string;
}

/** Numbers that an instance has been notified of. */
export interface Seen {
  readonly revision: number;
  readonly access: number;
}

/**
 * Lease of an instance, stored as a row: until its end the instance answers calls without a query.
 * The row also has the numbers that the instance has been notified of. Revoking rights waits for
 * both.
 */
export class Lease {
  readonly #db: Kysely<Database>;
  readonly #instanceId: string;
  readonly #now: () => number;
  /** Offset of the server's clock from this machine's, in milliseconds. */
  #ahead = 0;
  /** End of the lease, by `performance.now()`. */
  #until = 0;
  #timeline = FIRST_TIMELINE;
  /** Latest end of leases whose rows were lost by a promotion, by `performance.now()`. */
  #lostUntil = 0;

  /**
   * @param instanceId names this process among the instances.
   * @param now this machine's clock, in milliseconds since 1970 UTC.
   */
  constructor(db: Kysely<Database>, instanceId: string, now: () => number) {
    this.#db = db;
    this.#instanceId = instanceId;
    this.#now = now;
  }

  /**
   * Time of the server's clock, which all instances share, when this machine's clock shows `now`.
   */
  serverTime(now: number): number {
    return now + this.#ahead;
  }

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  /**
   * Renews the lease with the notified numbers, and reads the newest ones: one round trip. If the
   * lease expired before the answer arrived, other instances may not have waited for it, and their
   * changes are not in the answer: then it repeats the read under the new lease.
   */
  async renew(seen: Seen): Promise<Head> {
    let held = this.#until;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const asked = performance.now();
      const head = await this.#renewOnce(seen);
      const isHeld = performance.now() <= held;
      held = asked + LEASE;
      if (!isHeld) continue;
      this.#until = held;
      return head;
    }
    throw new Error(`each answer took longer than ${LEASE} ms`);
  }

  async #renewOnce({ revision, access }: Seen): Promise<Head> {
    const before = this.#now();
    const { rows } = await sql<{
      revision: number;
      access: number;
      timeline: string;
      time: number;
    }>`with renewed as (
      insert into instance (id, seen_revision, seen_access, lease_until)
      values (${this.#instanceId}, ${revision}, ${access}, clock_timestamp() + ${LEASE_INTERVAL})
      on conflict (id) do update
      set seen_revision = excluded.seen_revision, seen_access = excluded.seen_access, lease_until = excluded.lease_until
    )
    select revision, coalesce((select version from access_head where id = 1), 0) as access,
      ${sql.raw(TIMELINE)} as timeline,
      floor(extract(epoch from clock_timestamp()) * 1000)::bigint as time
    from head where id = 1`.execute(this.#db);
    const [head] = rows;
    if (head === undefined) throw new Error("the table head is empty");
    // The server's time lies between the two local readings, which bound the offset.
    const { time, ...newest } = head;
    this.#ahead = Math.min(Math.max(this.#ahead, time - this.#now()), time - before);
    this.#on(newest.timeline);
    return newest;
  }

  /** Removes rows of killed instances. */
  async removeOld(): Promise<void> {
    await sql`delete from instance where lease_until < clock_timestamp() - interval '1 hour'`.execute(
      this.#db,
    );
  }

  /** Ends the lease: other instances no longer wait for it. */
  async end(): Promise<void> {
    await sql`delete from instance where id = ${this.#instanceId}`
      .execute(this.#db)
      .catch(() => undefined);
  }

  /**
   * Resolves when no other instance uses an older state: each has been notified of this one, or its
   * lease has expired and it asks before it answers.
   *
   * @throws StoreError if an instance keeps its lease without having been notified.
   */
  async seenEverywhere(kind: keyof Seen, wanted: number, place: string): Promise<void> {
    const column = sql.ref(`seen_${kind}`);
    const giveUp = performance.now() + SEEN_AT_MOST;
    while (performance.now() < giveUp) {
      // A server that has just started may have lost the rows, but the leases still hold.
      const { rows } = await sql<{ waits: boolean; timeline: string }>`select
        ${sql.raw(TIMELINE)} as timeline,
        pg_postmaster_start_time() > clock_timestamp() - ${LEASE_INTERVAL}
        or exists (
          select from instance
          where id <> ${this.#instanceId} and ${column} < ${wanted}
          and lease_until > clock_timestamp()
        ) as waits`.execute(this.#db);
      const [answer] = rows;
      if (answer !== undefined) this.#on(answer.timeline);
      if (answer?.waits === false && performance.now() >= this.#lostUntil) return;
      await sleep(SEEN_AGAIN);
    }
    throw new StoreError(
      "unsure",
      `an instance on the database ${place} has a valid lease and has not confirmed ${kind === "access" ? "version" : "revision"} ${wanted}: check its log`,
    );
  }

  /** A promoted standby does not have the leases of its predecessor. */
  #on(timeline: string): void {
    if (timeline === this.#timeline) return;
    this.#timeline = timeline;
    this.#lostUntil = performance.now() + LEASE;
  }
}
