import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import SQLite from "better-sqlite3";
import { CompiledQuery, type DatabaseConnection, SqliteDialect, SqliteDriver } from "kysely";
import { StoreError } from "./error.ts";

/** "Moor" in ASCII: marks a database file as ours (SQLite file format, section 1.3.10). */
const APPLICATION_ID = 0x4d6f6f72;
const SQLITE_HEADER = "SQLite format 3\0";
/** How long the start waits for a lock of another process, in milliseconds. */
const START_LOCK_WAIT = 5_000;

export type SqliteHandle = SQLite.Database;

/**
 * Opens the database file, makes it when it is missing, and sets what durability rests on.
 * `synchronous=FULL` is set explicitly: in WAL mode better-sqlite3 would use NORMAL, which may lose
 * an acknowledged commit at power loss.
 *
 * @param path a file, or `:memory:` for a database that lives as long as the process.
 * @throws StoreError with one sentence for the person who runs the site.
 */
export function openSqlite(path: string): SqliteHandle {
  if (path !== ":memory:") checkFile(path);
  let handle: SqliteHandle | undefined;
  try {
    handle = new SQLite(path, { timeout: START_LOCK_WAIT });
    claim(handle, path);
    const mode = handle.pragma("journal_mode = WAL", { simple: true });
    if (mode !== "wal" && path !== ":memory:")
      throw new StoreError(
        "unusable",
        `the database ${path} cannot use write-ahead logging (it stays in "${mode}" mode): put it on a local disk, not on a network share`,
      );
    handle.pragma("synchronous = FULL");
    return handle;
  } catch (error) {
    handle?.close();
    throw error instanceof StoreError ? error : StoreError.fromSqlite(error, path);
  }
}

/** Says what SQLite would only call "unable to open database file". */
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
  if (stat.size > 0 && readHeader(path) !== SQLITE_HEADER)
    throw new StoreError(
      "unusable",
      `${path} is no SQLite database: set MOORING_DATABASE_URL to Mooring's own file, or move this one away`,
    );
}

function readHeader(path: string): string {
  try {
    const file = openSync(path, "r");
    const header = Buffer.alloc(SQLITE_HEADER.length);
    readSync(file, header, 0, header.length, 0);
    closeSync(file);
    return header.toString("latin1");
  } catch (error) {
    throw StoreError.fromSqlite(error, path);
  }
}

/** Marks a new file as ours and refuses one that another program made. */
function claim(handle: SqliteHandle, path: string): void {
  const id = handle.pragma("application_id", { simple: true });
  if (id === APPLICATION_ID) return;
  const tables = handle.prepare("select count(*) from sqlite_schema").pluck().get();
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
 * Kysely's SQLite dialect with transactions that take the write lock at once. A deferred one would
 * read first and fail when another process writes in between (SQLITE_BUSY_SNAPSHOT).
 */
export function createSqliteDialect(handle: SqliteHandle): SqliteDialect {
  return new ImmediateSqliteDialect({ database: handle });
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #config: ConstructorParameters<typeof SqliteDialect>[0];

  constructor(config: ConstructorParameters<typeof SqliteDialect>[0]) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateSqliteDriver(this.#config);
  }
}

class ImmediateSqliteDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }
}
