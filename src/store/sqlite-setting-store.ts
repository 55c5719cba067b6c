import { randomBytes } from "node:crypto";
import { Kysely, sql, type Transaction } from "kysely";
import { StoreError } from "./error.ts";
import {
  forgetRevisions,
  readChangesBetween,
  readCommits,
  readOldestRevision,
  readRevisions,
} from "./history-query.ts";
import { untilUnlocked } from "./lock-wait.ts";
import { migrate } from "./migrate.ts";
import type { Database } from "./schema.ts";
import { readDelta, readState, rewriteValues } from "./setting-query.ts";
import type { SettingStore } from "./setting-store.ts";
import { createTransact } from "./setting-transaction.ts";
import { createSqliteDialect, openSqlite } from "./sqlite.ts";
import { openWalIndex } from "./wal-index.ts";

type Db = Kysely<Database> | Transaction<Database>;

/**
 * Opens the store on an SQLite file and brings its schema up to date.
 *
 * @param path a file, or `:memory:`.
 * @throws StoreError when the file cannot be used or is newer than this program.
 */
export async function openSqliteSettingStore(path: string): Promise<SettingStore> {
  const handle = await openSqlite(path);
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  try {
    const failureOf = (error: unknown): unknown => {
      if (error instanceof StoreError) return error;
      if (!handle.open)
        return new StoreError("failed", `the database ${path} is closed: this process is stopping`);
      return isSqliteError(error) ? StoreError.fromSqlite(error, path) : error;
    };
    const attempt = <T>(work: () => T | Promise<T>): Promise<T> => untilUnlocked(work, failureOf);
    await attempt(() => migrate(db, path));
    const databaseId = await attempt(() => readMeta(db, "database_id", () => randomBytes(6)));
    const fingerprintKey = await attempt(() =>
      readMeta(db, "fingerprint_key", () => randomBytes(32)),
    );
    const dataVersion = handle.prepare<[], number>("pragma data_version").pluck();
    let seenVersion = dataVersion.get();
    const walIndex = openWalIndex(path);

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
            // SQLite itself has ended it after some failures.
            if (handle.inTransaction) await sql`commit`.execute(connection);
          }
        }),
      );

    const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
      attempt(() => db.transaction().execute(work));

    const transact = createTransact(handle, db);

    return {
      databaseId,
      fingerprintKey: Buffer.from(fingerprintKey, "base64url"),
      changedElsewhere: () => {
        try {
          if (walIndex?.isKept()) return false;
          const changed = dataVersion.get() !== seenVersion;
          // What was committed since the header was read has changed it once more.
          if (!changed) walIndex?.keep();
          return changed;
        } catch (error) {
          throw failureOf(error);
        }
      },
      load: () => reading(readState),
      delta: (after) => reading((trx) => readDelta(trx, after)),
      transact: (work) =>
        attempt(() =>
          transact(async (transaction) => {
            const version = dataVersion.get();
            const result = await work(transaction);
            seenVersion = version;
            return result;
          }),
        ),
      oldestRevision: () => attempt(() => readOldestRevision(db)),
      listRevisions: (filter) => attempt(() => readRevisions(db, filter)),
      commits: (after, upTo, limit) => attempt(() => readCommits(db, after, upTo, limit)),
      changesBetween: (after, upTo) => attempt(() => readChangesBetween(db, after, upTo)),
      rewrite: async (settings) => {
        await writing((trx) => rewriteValues(trx, settings));
        // What stood there before is still in the log. Another process may keep it from going now.
        await attempt(() => handle.pragma("wal_checkpoint(TRUNCATE)"));
      },
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
