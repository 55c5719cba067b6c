import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import SQLite from "better-sqlite3";
import {
  CompiledQuery,
  type DatabaseConnection,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
} from "kysely";
import { StoreError } from "./error.ts";
import { untilUnlocked } from "./lock-wait.ts";
import { keepStatements } from "./statement-cache.ts";

/** "Moor" in ASCII: marks a database file as ours (SQLite file format, section 1.3.10). */
const APPLICATION_ID = 0x4d6f6f72;
/** Bytes of the smallest page, and so of the smallest database that is not empty. */
const MIN_SIZE = 512;

export type SqliteHandle = SQLite.Database;

/**
 * Opens the database file, makes it when it is missing, and sets what durability rests on.
 * `synchronous=FULL` is set explicitly: in WAL mode better-sqlite3 would use NORMAL, which may lose
 * an acknowledged commit at power loss. SQLite itself never waits for a lock here: see untilUnlocked.
 *
 * @param path a file, or `:memory:` for a database that lives as long as the process.
 * @throws StoreError with one sentence for the person who runs the site.
 */
export async function openSqlite(path: string): Promise<SqliteHandle> {
  if (path !== ":memory:") checkFile(path);
  const failureOf = (error: unknown) => explain(error, path);
  return untilUnlocked(() => {
    const handle = new SQLite(path, { timeout: 0 });
    try {
      prepare(handle, path);
      return handle;
    } catch (error) {
      handle.close();
      throw error;
    }
  }, failureOf);
}

function prepare(handle: SqliteHandle, path: string): void {
  claim(handle, path);
  const mode = handle.pragma("journal_mode = WAL", { simple: true });
  if (mode !== "wal" && path !== ":memory:")
    throw new StoreError(
      "unusable",
      `the database ${path} cannot use write-ahead logging (it stays in "${mode}" mode): put it on a local disk, not on a network share`,
    );
  handle.pragma("synchronous = FULL");
  // A secret that was replaced, or sealed, is not to be found in the file's free space.
  handle.pragma("secure_delete = ON");
}

function explain(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const isNone = error instanceof SQLite.SqliteError && error.code === "SQLITE_NOTADB";
  return isNone ? noDatabase(path, error) : StoreError.fromSqlite(error, path);
}

function noDatabase(path: string, cause?: unknown): StoreError {
  return new StoreError(
    "unusable",
    `${path} is no SQLite database: set MOORING_DATABASE_URL to Mooring's own file, or move this one away`,
    cause,
  );
}

/**
 * Says what SQLite would only call "unable to open database file", and refuses a file that it would
 * open for reading only. It never opens the file itself: closing it would take away the locks that
 * SQLite holds on it in this process (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
function checkFile(path: string): void {
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new StoreError(
      "unusable",
      `the folder ${folder} for the database does not exist: create it, or set MOORING_DATABASE_URL or MOORING_DATA_DIR to another place`,
    );
  if (!existsSync(path)) return;
  const stat = statSync(path);
  if (!stat.isFile())
    throw new StoreError("unusable", `the database ${path} is not a file, but something else`);
  if (stat.size > 0 && stat.size < MIN_SIZE) throw noDatabase(path);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw StoreError.fromSqlite(error, path);
  }
}

/** Marks a new file as ours and refuses one that another program made. */
function claim(handle: SqliteHandle, path: string): void {
  const readId = () => handle.pragma("application_id", { simple: true });
  const id = readId();
  if (id === APPLICATION_ID) return;
  const tables = handle.prepare("select count(*) from sqlite_schema").pluck().get();
  // Another process may have marked it in between and begun to make its tables.
  if (readId() === APPLICATION_ID) return;
  if (id !== 0 || tables !== 0)
    throw new StoreError(
      "unusable",
      `${path} is a database of another program, not Mooring's: set MOORING_DATABASE_URL to a file of its own`,
    );
  handle.pragma(`application_id = ${APPLICATION_ID}`);
}

/** Makes a folder and its parents, for the data directory. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o750 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      "unusable",
      `the data directory ${path} cannot be made (${reason}): create it, or set MOORING_DATA_DIR to another place`,
      error,
    );
  }
}

/**
 * Kysely's SQLite dialect with transactions that take the write lock at once, migrations included. A
 * deferred one would read first and fail when another process writes in between
 * (SQLITE_BUSY_SNAPSHOT).
 */
export function createSqliteDialect(handle: SqliteHandle): SqliteDialect {
  return new ImmediateSqliteDialect(handle);
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #handle: SqliteHandle;

  constructor(handle: SqliteHandle) {
    super({ database: handle });
    this.#handle = handle;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateSqliteDriver(this.#handle);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalSqliteAdapter();
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  readonly #handle: SqliteHandle;

  constructor(handle: SqliteHandle) {
    super({ database: keepStatements(handle) });
    this.#handle = handle;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** SQLite itself has rolled back after some failures, such as a full disk. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#handle.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** Kysely's own says that SQLite cannot roll back changes of the schema, which it can. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
