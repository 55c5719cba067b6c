import type SQLite from "better-sqlite3";
import { Kysely, sql, type Transaction } from "kysely";
import { createAccessStore } from "../../access/query.ts";
import type { AccessStore } from "../../access/store.ts";
import { createAuditStore } from "../../audit/query.ts";
import type { AuditStore } from "../../audit/store.ts";
import { StoreError } from "../../database/error.ts";
import { claimTurn, lastRewrite, readFacts, unmarkRewrite } from "../../database/meta-query.ts";
import { migrate } from "../../database/migrate.ts";
import type { Database } from "../../database/schema.ts";
import { createSqliteDialect } from "../../database/sqlite/dialect.ts";
import { sqliteFailure } from "../../database/sqlite/failure.ts";
import { watchPlace } from "../../database/sqlite/file.ts";
import { untilUnlocked } from "../../database/sqlite/lock-wait.ts";
import { openSqlite, type SqliteOptions } from "../../database/sqlite/open.ts";
import { keysOf, revisionsOf } from "../../database/sqlite/segment.ts";
import { createIncidentStore } from "../../incidents/query.ts";
import type { IncidentStore } from "../../incidents/store.ts";
import type { MountStateStore } from "../../mounts/site/book.ts";
import { createMountStateStore } from "../../mounts/site/query.ts";
import {
  forgetRevisions,
  readChangesBetween,
  readCommits,
  readOldestRevision,
  readRevisions,
} from "../../settings/history-query.ts";
import { readFirstChanges, readKnownKeys } from "../../settings/key-history-query.ts";
import { readDelta, readState, rewriteValues } from "../../settings/query.ts";
import { hasOtherHashes, rehashRows } from "../../settings/rehash-query.ts";
import type { SettingStore } from "../../settings/store.ts";
import { createSiteStore } from "../../sites/query.ts";
import type { SiteStore } from "../../sites/store.ts";
import { migrations } from "./migration.ts";
import { appendAudit, createTransact } from "./transaction.ts";

/** Revisions whose changes are read in one query: each has at most 1,000 or those of an import. */
const CHANGES_STEP = 10;

type Db = Kysely<Database> | Transaction<Database>;

/**
 * Opens the store on an SQLite file and brings its schema up to date.
 *
 * @param path a file, or `:memory:`.
 * @throws StoreError when the file cannot be used or is newer than this program.
 */
export async function openSqliteSettingStore(
  path: string,
  options: SqliteOptions = {},
): Promise<
  SettingStore & {
    readonly sites: SiteStore;
    readonly mountStates: MountStateStore;
    readonly incidents: IncidentStore;
    readonly access: AccessStore;
    readonly audit: AuditStore;
  }
> {
  const handle = await openSqlite(path, options);
  const db = new Kysely<Database>({ dialect: createSqliteDialect(handle) });
  try {
    const failureOf = (error: unknown): unknown => {
      if (error instanceof StoreError) return error;
      if (!handle.open)
        return new StoreError("failed", `the database ${path} is closed: this process is stopping`);
      return isSqliteError(error) ? sqliteFailure(error, path) : error;
    };
    const attempt = <T>(work: () => T | Promise<T>): Promise<T> =>
      untilUnlocked(work, failureOf, options.lockWait);
    await attempt(() => migrate(db, path, migrations));
    const facts = await attempt(() => readFacts(db));
    const dataVersion = handle.prepare<[], number>("pragma data_version").pluck();
    let seenVersion = dataVersion.get();
    /** Since when the file can't be read, of `performance.now()`; undefined: it can. */
    let unreadableSince: number | undefined;
    /** Data version of the last check of the access tables. */
    let seenAccess: number | undefined;
    const place = watchPlace(path, options.notify);

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
      attempt(() => {
        place.check();
        return db.transaction().execute(work);
      });

    const transact = createTransact(handle, db);

    return {
      ...facts,
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
      // Every process asks at each call.
      seenEverywhere: () => attempt(() => dataVersion.get()).then(() => undefined),
      load: () => reading(readState),
      delta: (after) => reading((trx) => readDelta(trx, after)),
      transact: (work) =>
        attempt(() => {
          place.check();
          return transact(async (transaction) => {
            const version = dataVersion.get();
            const result = await work(transaction);
            seenVersion = version;
            return result;
          });
        }),
      oldestRevision: () => attempt(() => readOldestRevision(db)),
      listRevisions: (filter) => attempt(() => readRevisions(db, filter, revisionsOf)),
      commits: (after, upTo, limit) => attempt(() => readCommits(db, after, upTo, limit)),
      changesBetween: (after, upTo) =>
        attempt(() => readChangesBetween(db, after, upTo, CHANGES_STEP)),
      knownKeys: (keys) => attempt(() => readKnownKeys(db, keys, keysOf)),
      firstChanges: (asked, upTo) => attempt(() => readFirstChanges(db, asked, upTo)),
      rewrite: (change) => writing((trx) => rewriteValues(trx, change, appendAudit)),
      rehash: async (rehash) =>
        (await attempt(() => hasOtherHashes(db, rehash)))
          ? writing((trx) => rehashRows(trx, rehash, appendAudit))
          : 0,
      eraseReplaced: async () => {
        const rewrite = await attempt(() => lastRewrite(db));
        if (rewrite === undefined) return undefined;
        try {
          // On the one connection: a transaction that is open would be in its way.
          await attempt(() => db.connection().execute(async () => truncateLog(handle, path)));
        } catch (error) {
          if (error instanceof StoreError) return error.message;
          throw error;
        }
        await writing((trx) => unmarkRewrite(trx, rewrite));
        return undefined;
      },
      claimTurn: (task, interval, now) =>
        attempt(() => {
          place.check();
          return claimTurn(db, task, interval, now);
        }),
      compact: (retention, step) => writing((trx) => forgetRevisions(trx, retention, step)),
      audit: createAuditStore({
        db,
        origin: facts.databaseId,
        attempt,
        check: place.check,
        append: appendAudit,
      }),
      sites: createSiteStore({ db, append: appendAudit, attempt, check: place.check }),
      mountStates: createMountStateStore({ db, attempt, check: place.check }),
      incidents: createIncidentStore({ db, append: appendAudit, attempt, check: place.check }),
      access: createAccessStore({
        db,
        append: appendAudit,
        attempt,
        check: place.check,
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
        // Every process asks at each call.
        seenEverywhere: async () => undefined,
      }),
      close: async () => {
        place.close();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy();
    throw isSqliteError(error) ? sqliteFailure(error, path) : error;
  }
}

/**
 * Checkpoints and empties the log, which contains old values until then.
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
