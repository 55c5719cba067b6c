import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, sql, type Transaction } from "kysely";
import { StoreError } from "./error.ts";
import {
  forgetRevisions,
  readChangesBetween,
  readCommits,
  readOldestRevision,
  readRevisions,
} from "./history-query.ts";
import { migrate } from "./migrate.ts";
import type { Database } from "./schema.ts";
import { readDelta, readRevision, readState, rewriteValues, writeRows } from "./setting-query.ts";
import type { SettingStore, SettingTransaction } from "./setting-store.ts";
import { createSqliteDialect, openSqlite } from "./sqlite.ts";

/** How long a write waits for the lock of another process, in milliseconds. */
const LOCK_WAIT = 5_000;

type Db = Kysely<Database> | Transaction<Database>;

/**
 * Opens the store on an SQLite file and brings its schema up to date.
 *
 * @param path a file, or `:memory:`.
 * @throws StoreError when the file cannot be used or is newer than this program.
 */
export async function openSqliteSettingStore(path: string): Promise<SettingStore> {
  const handle = openSqlite(path);
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  try {
    await migrate(db, path);
    const databaseId = await readMeta(db, "database_id", () => randomBytes(6));
    const fingerprintKey = await readMeta(db, "fingerprint_key", () => randomBytes(32));
    // From here on a lock is waited for without blocking the event loop: see transact.
    handle.pragma("busy_timeout = 0");
    const dataVersion = handle.prepare<[], number>("pragma data_version").pluck();
    let seenVersion = dataVersion.get();

    const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
      const giveUp = Date.now() + LOCK_WAIT;
      for (;;) {
        try {
          return await work();
        } catch (error) {
          if (error instanceof StoreError) throw error;
          const failure = isSqliteError(error) ? StoreError.fromSqlite(error, path) : undefined;
          if (failure === undefined) throw error;
          if (failure.failure !== "busy" || Date.now() > giveUp) throw failure;
          await sleep(2 + Math.random() * 8);
        }
      }
    };
    // The version is read inside the transaction: what is read there is what the version names.
    const reading = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
      attempt(() =>
        db.connection().execute(async (connection) => {
          await sql`begin`.execute(connection);
          try {
            const result = await work(connection);
            seenVersion = dataVersion.get();
            return result;
          } finally {
            await sql`commit`.execute(connection);
          }
        }),
      );

    const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
      attempt(() => db.transaction().execute(work));

    return {
      databaseId,
      fingerprintKey: Buffer.from(fingerprintKey, "base64url"),
      changedElsewhere: () => dataVersion.get() !== seenVersion,
      load: () => reading(readState),
      delta: (after) => reading((trx) => readDelta(trx, after)),
      transact: (work) =>
        writing(async (trx) => {
          const version = dataVersion.get();
          const result = await work(createTransaction(trx));
          seenVersion = version;
          return result;
        }),
      oldestRevision: () => attempt(() => readOldestRevision(db)),
      listRevisions: (filter) => attempt(() => readRevisions(db, filter)),
      commits: (after, upTo, limit) => attempt(() => readCommits(db, after, upTo, limit)),
      changesBetween: (after, upTo) => attempt(() => readChangesBetween(db, after, upTo)),
      rewrite: (settings) => writing((trx) => rewriteValues(trx, settings)),
      compact: (retention, step) => writing((trx) => forgetRevisions(trx, retention, step)),
      close: () => db.destroy(),
    };
  } catch (error) {
    await db.destroy();
    throw isSqliteError(error) ? StoreError.fromSqlite(error, path) : error;
  }
}

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && error.name === "SqliteError";
}

function createTransaction(trx: Transaction<Database>): SettingTransaction {
  return {
    revision: () => readRevision(trx),
    delta: (after) => readDelta(trx, after),
    load: () => readState(trx),
    write: (rows) => writeRows(trx, rows),
  };
}

/** A random fact about the database: made once, by the first process that asks. */
async function readMeta(db: Kysely<Database>, name: string, make: () => Buffer): Promise<string> {
  const read = () =>
    db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst();
  const known = await read();
  if (known !== undefined) return known.value;
  await db
    .insertInto("meta")
    .values({ name, value: make().toString("base64url") })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await read())?.value ?? "";
}
