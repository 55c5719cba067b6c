import { type Kysely, sql, type Transaction } from "kysely";
import { StoreError } from "../../database/error.ts";
import { TIMELINE } from "../../database/postgres/server.ts";
import type { Database } from "../../database/schema.ts";
import { readState } from "../../settings/query.ts";
import type { SettingTransaction, StoredWrite } from "../../settings/store.ts";
import { readDeltaAtOnce } from "./delta.ts";
import type { Follower } from "./follow.ts";
import { type WriteBase, writeStatement } from "./write.ts";

/** Signal to repeat the work under the lock. */
class NeedsLock extends Error {}

type Work<T> = (transaction: SettingTransaction) => Promise<T>;

/** Serializes work. */
export type OneAfterTheOther = <T>(work: () => Promise<T>) => Promise<T>;

export function oneAfterTheOther(): OneAfterTheOther {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work, work);
    last = run;
    return run;
  };
}

/**
 * Creates the transaction of saves.
 *
 * A save usually starts from the newest revision, which this process has: it is decided without a
 * query, and written by one statement on condition that the revision is still the newest.
 * Otherwise, and if the work reads changes of other instances, it is repeated under the lock.
 *
 * Serialized: two transactions of one process would conflict.
 *
 * @param within time limit, in milliseconds.
 */
export function createTransact(db: Kysely<Database>, follower: Follower, within: number) {
  return <T>(work: Work<T>): Promise<T> => inTime(runOnce(db, follower, work), within);
}

interface Done<T> {
  readonly result: T;
  /** Newest revision afterwards. */
  readonly revision: number;
  readonly hasWritten: boolean;
  readonly hasReadAll: boolean;
}

async function runOnce<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<() => T> {
  const done = (await withoutLock(db, follower, work)) ?? (await withLock(db, follower, work));
  // Called only without a time-out; otherwise the result is unknown to the caller.
  return () => {
    if (done.hasReadAll) follower.sawAll(done.revision);
    else follower.saw(done.revision);
    if (done.hasWritten) follower.announce(done.revision);
    return done.result;
  };
}

async function inTime<T>(running: Promise<() => T>, within: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError("unsure", "the database did not answer in time"));
    }, within);
  });
  try {
    const finish = await Promise.race([running, late]);
    return finish();
  } finally {
    clearTimeout(timer);
    running.catch(() => undefined);
  }
}

/** @returns undefined if the work must be repeated under the lock. */
async function withoutLock<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<Done<T> | undefined> {
  const { known, timeline } = follower;
  if (known < 0 || timeline === undefined || follower.isReplaced) return undefined;
  const base = { revision: known, timeline };
  let written: StoredWrite | undefined;
  const lock = async (): Promise<never> => {
    throw new NeedsLock();
  };
  try {
    const result = await work({
      revision: async () => newestOf(written, known),
      delta: lock,
      load: lock,
      write: async (rows) => {
        if (written !== undefined) throw new NeedsLock();
        written = rows;
      },
    });
    const isNewest = await (written === undefined ? isHead(db, base) : write(db, written, base));
    if (!isNewest) return undefined;
    return {
      result,
      revision: newestOf(written, known),
      hasWritten: written !== undefined,
      hasReadAll: false,
    };
  } catch (error) {
    if (error instanceof NeedsLock) return undefined;
    throw error;
  }
}

function newestOf(rows: StoredWrite | undefined, base: number): number {
  return rows?.revisions.at(-1)?.revision ?? base;
}

/** Reports whether a decision to write nothing was made on the newest revision. */
async function isHead(db: Kysely<Database>, { revision, timeline }: WriteBase): Promise<boolean> {
  const { rows } = await sql`select from head
    where id = 1 and revision = ${revision} and ${sql.raw(TIMELINE)} = ${timeline}`.execute(db);
  return rows.length === 1;
}

async function write(
  db: Kysely<Database> | Transaction<Database>,
  rows: StoredWrite,
  base: WriteBase,
): Promise<boolean> {
  const { rows: moved } = await db.executeQuery(writeStatement(rows, base));
  return moved.length === 1;
}

async function withLock<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<Done<T>> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ revision: number }>`select revision from head
      where id = 1 for update`.execute(trx);
    let revision = rows[0]?.revision ?? 0;
    let hasWritten = false;
    let hasReadAll = false;
    const timeline = await readTimeline(trx);
    if (timeline !== undefined) follower.on(timeline);
    const { isReplaced } = follower;
    const result = await work({
      // After a failover the same number may be another revision: -1 forces a full read.
      revision: async () => (isReplaced && !hasWritten ? -1 : revision),
      delta: async (after) => (isReplaced ? undefined : readDeltaAtOnce(trx, after)),
      load: () => {
        hasReadAll = true;
        return readState(trx);
      },
      write: async (written) => {
        const isNewest = await write(trx, written, { revision, timeline: undefined });
        if (!isNewest) throw new Error("the head changed while it was locked");
        revision = newestOf(written, revision);
        hasWritten = true;
      },
    });
    return { result, revision, hasWritten, hasReadAll };
  });
}

async function readTimeline(trx: Transaction<Database>): Promise<string | undefined> {
  const { rows } = await sql<{ timeline: string }>`select ${sql.raw(TIMELINE)} as timeline`.execute(
    trx,
  );
  return rows[0]?.timeline;
}
