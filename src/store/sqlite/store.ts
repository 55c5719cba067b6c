import type SQLite from "better-sqlite3";
import { Kysely, sql, type Transaction } from "kysely";
import { createAccessStore } from "../../access/query.ts";
import { StoreError } from "../../database/error.ts";
import { lastRewrite, readFacts, unmarkRewrite } from "../../database/meta-query.ts";
import { migrate } from "../../database/migrate.ts";
import type { Database } from "../../database/schema.ts";
import { createSqliteDialect } from "../../database/sqlite/dialect.ts";
import { sqliteFailure, untilUnlocked } from "../../database/sqlite/failure.ts";
import { type Place, watchPlace } from "../../database/sqlite/file.ts";
import { checkIntegrity, openSqlite, type SqliteOptions } from "../../database/sqlite/open.ts";
import { keysOf, revisionsOf } from "../../database/sqlite/segment.ts";
import { forgetRevisions, hasOtherHashes, rehashRows } from "../../ledger/history-query.ts";
import { readDelta, readState, rewriteRecords } from "../../ledger/query.ts";
import type { OpenDatabase } from "../copy.ts";
import { HASHED_STATES } from "../hashed-states.ts";
import { createStores, type Store } from "../stores.ts";
import { migrations } from "./migration.ts";
import { appendAudit, createTransact } from "./transaction.ts";

/** Revisions whose changes one query reads; each has up to 1,000 changes, or those of an import. */
const CHANGES_STEP = 10;

type Db = Kysely<Database> | Transaction<Database>;

/**
 * Opens the store on an SQLite file and brings its schema up to date.
 *
 * @param path a file, or `:memory:`.
 * @throws StoreError when the file cannot be used or is newer than this program.
 */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  const handle = await openSqlite(path, options);
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  // Begins once SQLite has made all of its files.
  let place: Place | undefined;
  try {
    const failureOf = (error: unknown): unknown => {
      if (error instanceof StoreError) return error;
      if (!handle.open)
        return new StoreError("failed", `the database ${path} is closed: this process is stopping`);
      if (!isSqliteError(error)) return error;
      const failure = sqliteFailure(error, path);
      if (failure.failure === "full") place?.full();
      return failure;
    };
    const attempt = <T>(work: () => T | Promise<T>): Promise<T> =>
      untilUnlocked(work, failureOf, options.lockWait);
    await attempt(() => migrate(db, path, migrations));
    const facts = await attempt(() => readFacts(db));
    const dataVersion = handle.prepare<[], number>("pragma data_version").pluck();
    let seenVersion = dataVersion.get();
    /** Start of an unreadable period, from `performance.now()`; undefined: readable. */
    let unreadableSince: number | undefined;
    /** Data version of the last check of the access tables. */
    let seenAccess: number | undefined;
    const opened = watchPlace(path, options.notify);
    place = opened;

    // The version is read inside the transaction, so that it belongs to the state that was read.
    const reading = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
      attempt(() =>
        db.connection().execute(async (connection) => {
          await sql`begin`.execute(connection);
          try {
            const result = await work(connection);
            seenVersion = dataVersion.get();
            return result;
          } finally {
            // SQLite ends the transaction itself after some failures.
            if (handle.inTransaction) await sql`commit`.execute(connection);
          }
        }),
      );

    const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
      attempt(() => {
        opened.check();
        return db.transaction().execute(work);
      });

    const transact = createTransact(handle, db);

    return {
      ...facts,
      ...createStores({
        db,
        attempt,
        check: opened.check,
        append: appendAudit,
        origin: facts.databaseId,
        revisionsOf,
        keysOf,
        changesStep: CHANGES_STEP,
      }),
      changedElsewhere: () => {
        try {
          const isOther = dataVersion.get() !== seenVersion;
          unreadableSince = undefined;
          return isOther;
        } catch (error) {
          unreadableSince ??= performance.now();
          throw failureOf(error);
        }
      },
      onNews: () => undefined,
      awayFor: () => (unreadableSince === undefined ? 0 : performance.now() - unreadableSince),
      note: () => undefined,
      problem: opened.problem,
      // Every process checks data_version at each call.
      seenEverywhere: () => attempt(() => dataVersion.get()).then(() => undefined),
      load: () => reading(readState),
      delta: (after) => reading((trx) => readDelta(trx, after)),
      transact: (work) =>
        attempt(() => {
          opened.check();
          return transact(async (transaction) => {
            const version = dataVersion.get();
            const result = await work(transaction);
            seenVersion = version;
            return result;
          });
        }),
      rewrite: (change) => writing((trx) => rewriteRecords(trx, change, appendAudit)),
      rehash: async (rehash) =>
        (await attempt(() => hasOtherHashes(db, rehash, HASHED_STATES)))
          ? writing((trx) =>
              rehashRows(trx, rehash, { append: appendAudit, tables: HASHED_STATES }),
            )
          : 0,
      eraseReplaced: async () => {
        const rewrite = await attempt(() => lastRewrite(db));
        if (rewrite === undefined) return undefined;
        try {
          // On the only connection, so that no transaction is open.
          await attempt(() => db.connection().execute(async () => truncateLog(handle, path)));
        } catch (error) {
          if (error instanceof StoreError) return error.message;
          throw error;
        }
        await writing((trx) => unmarkRewrite(trx, rewrite));
        return undefined;
      },
      compact: (retention, step) => writing((trx) => forgetRevisions(trx, retention, step)),
      access: createAccessStore({
        db,
        append: appendAudit,
        attempt,
        check: opened.check,
        changedElsewhere: () => {
          try {
            return dataVersion.get() !== seenAccess;
          } catch (error) {
            throw failureOf(error);
          }
        },
        reading: () => {
          const version = dataVersion.get();
          const done = (): void => {
            seenAccess = version;
          };
          return { isAnew: false, done };
        },
        committed: () => undefined,
        // Every process checks data_version at each call.
        seenEverywhere: async () => undefined,
      }),
      close: async () => {
        opened.close();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy();
    throw isSqliteError(error) ? sqliteFailure(error, path) : error;
  }
}

/**
 * Checkpoints and truncates the write-ahead log, which contains replaced values until then.
 *
 * @throws StoreError while a reader uses an older state in it.
 */
function truncateLog(handle: SQLite.Database, path: string): void {
  const [result] = handle.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
  if (result?.busy !== 0)
    throw new StoreError(
      "busy",
      `another program reads an older state of the database ${path} (a backup, a database browser), so that ${path}-wal keeps it: end that program`,
    );
}

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && error.name === "SqliteError";
}

/** Opens an SQLite file to copy or check it. @throws StoreError. */
export async function openSqliteDatabase(path: string): Promise<OpenDatabase> {
  const handle = await openSqlite(path, { integrityCheck: "off" });
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Error && error.name === "SqliteError") throw sqliteFailure(error, path);
      throw error;
    }
  };
  const database: OpenDatabase = {
    place: path,
    db,
    // Transactions of the dialect hold the write lock.
    frozen: (work) => explained(() => db.transaction().execute(work)),
    finish: async () => undefined,
    damage: async () => {
      try {
        checkIntegrity(handle, path, { isWhole: true, notify: () => undefined });
        return [];
      } catch (error) {
        if (error instanceof StoreError) return [error.message];
        throw error;
      }
    },
    close: () => db.destroy(),
  };
  try {
    await explained(() => migrate(db, path, migrations));
    return database;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
