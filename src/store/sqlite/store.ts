import type SQLite from "better-sqlite3";
import { Kysely, sql, type Transaction } from "kysely";
import { createAccessStore } from "../../access/query.ts";
import { StoreError } from "../../database/error.ts";
import { readFacts } from "../../database/meta-query.ts";
import { migrate } from "../../database/migrate.ts";
import type { Database } from "../../database/schema.ts";
import { createSqliteDialect } from "../../database/sqlite/dialect.ts";
import { isSqliteError, sqliteFailure, untilUnlocked } from "../../database/sqlite/failure.ts";
import { type Place, watchPlace } from "../../database/sqlite/file.ts";
import { openSqlite, type SqliteOptions } from "../../database/sqlite/open.ts";
import { keysOf, revisionsOf } from "../../database/sqlite/segment.ts";
import { forgetRevisions } from "../../ledger/history-query.ts";
import { readDelta, readState } from "../../ledger/query.ts";
import { createStores, type Store } from "../stores.ts";
import { DataVersion } from "./data-version.ts";
import { migrations } from "./migration.ts";
import { createRewrites } from "./rewrite.ts";
import { appendAudit, createTransact } from "./transaction.ts";

/** Revisions whose changes one query reads; each has up to 1,000 changes, or those of an import. */
const CHANGES_STEP = 10;

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
  const failureOf = (error: unknown): unknown => {
    if (error instanceof StoreError) return error;
    if (!handle.open)
      return new StoreError("failed", `the database ${path} is closed: this process is stopping`);
    if (!isSqliteError(error)) return error;
    const failure = sqliteFailure(error, path);
    if (failure.failure === "full") place?.full();
    return failure;
  };
  const attempt: Attempt = (work) => untilUnlocked(work, failureOf, options.lockWait);
  try {
    await attempt(() => migrate(db, path, migrations));
    const facts = await attempt(() => readFacts(db));
    const version = new DataVersion(handle);
    place = watchPlace(path, options.notify);
    return createStore({ handle, db, path, facts, version, place, attempt, failureOf });
  } catch (error) {
    await db.destroy();
    throw isSqliteError(error) ? sqliteFailure(error, path) : error;
  }
}

type Attempt = <T>(work: () => T | Promise<T>) => Promise<T>;

interface StoreParts {
  readonly handle: SQLite.Database;
  readonly db: Kysely<Database>;
  readonly path: string;
  readonly facts: Awaited<ReturnType<typeof readFacts>>;
  readonly version: DataVersion;
  readonly place: Place;
  /** Runs a query, waiting for locks. @throws StoreError. */
  readonly attempt: Attempt;
  readonly failureOf: (error: unknown) => unknown;
}

function createStore(parts: StoreParts): Store {
  const { handle, db, path, facts, version, place, attempt, failureOf } = parts;
  // The version is read inside the transaction, so that it belongs to the state that was read.
  const read = <T>(work: (db: Kysely<Database>) => Promise<T>): Promise<T> =>
    attempt(() =>
      db.connection().execute(async (connection) => {
        await sql`begin`.execute(connection);
        try {
          const result = await work(connection);
          version.see(version.read());
          return result;
        } finally {
          // SQLite ends the transaction itself after some failures.
          if (handle.inTransaction) await sql`commit`.execute(connection);
        }
      }),
    );
  const write = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      place.check();
      return db.transaction().execute(work);
    });
  const transact = createTransact(handle, db);
  return {
    ...facts,
    ...createStores({
      db,
      attempt,
      check: place.check,
      append: appendAudit,
      origin: facts.databaseId,
      revisionsOf,
      keysOf,
      changesStep: CHANGES_STEP,
    }),
    ...createRewrites({ handle, db, path, attempt, write }),
    access: accessStore(parts),
    changedElsewhere: () => mapFailure(() => version.isBehind(), failureOf),
    onNews: () => undefined,
    awayFor: () => version.awayFor(),
    note: () => undefined,
    problem: place.problem,
    // Every process checks data_version at each call.
    seenEverywhere: () => attempt(() => version.read()).then(() => undefined),
    load: () => read(readState),
    delta: (after) => read((db) => readDelta(db, after)),
    transact: (work) =>
      attempt(() => {
        place.check();
        return transact(async (transaction) => {
          const before = version.read();
          const result = await work(transaction);
          version.see(before);
          return result;
        });
      }),
    compact: (retention, step) => write((trx) => forgetRevisions(trx, retention, step)),
    close: async () => {
      place.close();
      await db.destroy();
    },
  };
}

function accessStore({ db, version, place, attempt, failureOf }: StoreParts): Store["access"] {
  return createAccessStore({
    db,
    append: appendAudit,
    attempt,
    check: place.check,
    changedElsewhere: () => mapFailure(() => version.isAccessBehind(), failureOf),
    reading: () => {
      const before = version.read();
      return { isAnew: false, done: () => version.seeAccess(before) };
    },
    committed: () => undefined,
    // Every process checks data_version at each call.
    seenEverywhere: async () => undefined,
  });
}

function mapFailure<T>(work: () => T, failureOf: (error: unknown) => unknown): T {
  try {
    return work();
  } catch (error) {
    throw failureOf(error);
  }
}
