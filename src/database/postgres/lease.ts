import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { StoreError } from "../error.ts";
import type { Database } from "../schema.ts";
import { FIRST_TIMELINE, TIMELINE } from "./server.ts";

/** How long a lease holds, in milliseconds. */
export const LEASE = 1_000;
/** How often it is asked for one that has run out, while answers come too late to hold it. */
const ATTEMPTS = 3;
/** How often it is asked whether all others have seen a change. */
const SEEN_AGAIN = 10;
/** When that is given up: no lease holds so long unless its instance goes on without having seen it. */
const SEEN_AT_MOST = 5_000;

const LEASE_INTERVAL = sql.raw(`interval '${LEASE} ms'`);

/** What is the newest in the database. */
export interface Head {
  readonly revision: number;
  /** Of who may do what. */
  readonly access: number;
  readonly timeline: string;
}

/** What an instance has heard of. */
export interface Seen {
  readonly revision: number;
  readonly access: number;
}

/**
 * The row by which an instance says until when it answers calls without asking the database, and what
 * it has heard of: whoever takes rights away waits for that.
 */
export class Lease {
  readonly #db: Kysely<Database>;
  readonly #instanceId: string;
  readonly #now: () => number;
  /** By how much the server's clock is ahead of this machine's, in milliseconds. */
  #ahead = 0;
  /** Of `performance.now()`. */
  #until = 0;
  #timeline = FIRST_TIMELINE;
  /** Until when leases may hold whose rows a promotion has lost, likewise. */
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

  /** What the server's clock shows when this machine's shows `now`: instances have that one in common. */
  serverTime(now: number): number {
    return now + this.#ahead;
  }

  get isOver(): boolean {
    return performance.now() > this.#until;
  }

  /**
   * Renews it with what was heard of, and asks for what is the newest: one round trip. Where it has run
   * out before the answer came, nobody may have waited for it, and what was changed meanwhile is not in
   * the answer: then it is asked again, now that everybody waits.
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
      revision: string;
      access: string;
      timeline: string;
      time: string;
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
    // It was that time between the two: what agrees with it is no difference.
    const time = Number(head.time);
    this.#ahead = Math.min(Math.max(this.#ahead, time - this.#now()), time - before);
    this.#on(head.timeline);
    return {
      revision: Number(head.revision),
      access: Number(head.access),
      timeline: head.timeline,
    };
  }

  /** Removes those that killed instances have left. */
  async removeOld(): Promise<void> {
    await sql`delete from instance where lease_until < clock_timestamp() - interval '1 hour'`.execute(
      this.#db,
    );
  }

  /** Nobody has to wait for it any more. */
  async end(): Promise<void> {
    await sql`delete from instance where id = ${this.#instanceId}`
      .execute(this.#db)
      .catch(() => undefined);
  }

  /**
   * Resolves when no other instance goes by something older: it has heard of this, or its lease is over
   * and it asks before it answers.
   *
   * @throws StoreError when an instance goes on without.
   */
  async seenEverywhere(kind: keyof Seen, wanted: number, place: string): Promise<void> {
    const column = sql.ref(`seen_${kind}`);
    const giveUp = performance.now() + SEEN_AT_MOST;
    while (performance.now() < giveUp) {
      // A server that has just started may have lost the rows, but not the leases that they stand for.
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
      `an instance on the database ${place} goes on without having seen ${kind === "access" ? "version" : "revision"} ${wanted}: look at its log`,
    );
  }

  /** A standby knows nothing of the leases that the server before it gave. */
  #on(timeline: string): void {
    if (timeline === this.#timeline) return;
    this.#timeline = timeline;
    this.#lostUntil = performance.now() + LEASE;
  }
}
