import { statSync } from "node:fs";
import SQLite from "better-sqlite3";
import { type Notify, StoreError } from "../error.ts";
import { sqliteFailure, untilUnlocked } from "./failure.ts";
import { checkFile, createFile, noDatabase, tightenFiles } from "./file.ts";

/**
 * Application id of Mooring's database files, "Moor" in ASCII (SQLite file format, section 1.3.10).
 */
const APPLICATION_ID = 0x4d6f6f72;

export interface SqliteOptions {
  /** When all pages are checked: default `auto`, after an unclean stop. */
  readonly integrityCheck?: IntegrityCheck;
  /** Default: no notices. */
  readonly notify?: Notify;
  /** Wait for a lock of another process, in milliseconds. Default: 5,000. */
  readonly lockWait?: number;
}

/**
 * Opens the database file, creates a missing one, and sets the options for durability.
 * `synchronous=FULL` is set explicitly: in WAL mode better-sqlite3 would use NORMAL, which may lose
 * an acknowledged commit at power loss. SQLite itself never waits for a lock here: see
 * untilUnlocked.
 *
 * @param path a file, or `:memory:` for a database that lives as long as the process.
 * @throws StoreError with a message for the operator.
 */
export async function openSqlite(
  path: string,
  { integrityCheck = "auto", notify = () => undefined, lockWait }: SqliteOptions = {},
): Promise<SQLite.Database> {
  const isFile = path !== ":memory:";
  if (isFile) checkFile(path);
  const isChecked =
    integrityCheck === "always" || (integrityCheck === "auto" && isFile && isLeftOpen(path));
  const failureOf = (error: unknown) => explain(error, path);
  return untilUnlocked(
    () => {
      if (isFile) createFile(path);
      const handle = new SQLite(path, { timeout: 0 });
      try {
        prepare(handle, path);
        if (isFile) tightenFiles(path, notify);
        if (isChecked)
          checkIntegrity(handle, path, { notify, isWhole: integrityCheck === "always" });
        return handle;
      } catch (error) {
        handle.close();
        throw error;
      }
    },
    failureOf,
    lockWait,
  );
}

function prepare(handle: SQLite.Database, path: string): void {
  claim(handle, path);
  const mode = handle.pragma("journal_mode = WAL", { simple: true });
  if (mode !== "wal" && path !== ":memory:")
    throw new StoreError(
      "unusable",
      `the database ${path} cannot use write-ahead logging (it stays in "${mode}" mode): put it on a local disk, not on a network share`,
    );
  handle.pragma("synchronous = FULL");
  // Replaced or sealed secrets must not remain in the free space of the file.
  handle.pragma("secure_delete = ON");
  // 2 MB of pages, SQLite's default, instead of the 16 MB of better-sqlite3: the system caches the
  // file as well. Effect: 105 to 110 MB resident after 8,000 reads and saves instead of 119, which
  // grew to 124; a transaction of 20,000 rows takes at most a tenth more processor time.
  handle.pragma("cache_size = -2000");
}

function explain(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const isNone = error instanceof SQLite.SqliteError && error.code === "SQLITE_NOTADB";
  return isNone ? noDatabase(path, error) : sqliteFailure(error, path);
}

/** Marks a new file with the application id, and rejects a file of another program. */
function claim(handle: SQLite.Database, path: string): void {
  const readId = () => handle.pragma("application_id", { simple: true });
  const id = readId();
  if (id === APPLICATION_ID) return;
  const tables = handle.prepare("select count(*) from sqlite_schema").pluck().get();
  // Another process may have marked the file in the meantime and begun to create tables.
  if (readId() === APPLICATION_ID) return;
  if (id !== 0 || tables !== 0)
    throw new StoreError(
      "unusable",
      `${path} is a database of another program, not Mooring's: set MOORING_DATABASE_URL to another file`,
    );
  handle.pragma(`application_id = ${APPLICATION_ID}`);
}

/** Check of all pages at a start: after an unclean stop, always, or never. */
type IntegrityCheck = "auto" | "always" | "off";

/** Maximum size of a database whose history is checked by default, in bytes: about a second. */
const MAX_UNASKED = 512 * 1024 * 1024;
/** Table of the history's changes, which is most of a large database. */
const LARGEST = "change";

/** Reports whether the log has content: the last connection to close the database removes it. */
function isLeftOpen(path: string): boolean {
  try {
    return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  } catch (error) {
    // The folder cannot be entered.
    throw sqliteFailure(error, path);
  }
}

/**
 * Checks every page of every table, and the types of each row (`pragma quick_check`). It does not
 * detect a value that was replaced by another valid one.
 *
 * @param isWhole includes the history of a very large database.
 * @throws StoreError with advice when the database is damaged.
 */
export function checkIntegrity(
  handle: SQLite.Database,
  path: string,
  { isWhole, notify }: { readonly isWhole: boolean; readonly notify: Notify },
): void {
  const began = performance.now();
  const tables = handle
    .prepare<[string], string>(
      "select name from sqlite_schema where type = 'table' order by name = ?",
    )
    .pluck()
    .all(LARGEST);
  const size = Number(handle.pragma("page_count", { simple: true })) * pageSize(handle);
  for (const table of tables) {
    if (table === LARGEST && !isWhole && size > MAX_UNASKED) {
      notify(
        "warn",
        `the database ${path} is larger than ${MAX_UNASKED / 2 ** 20} MiB: after an unclean stop only its settings were checked, not its history; MOORING_INTEGRITY_CHECK=always checks everything`,
      );
      continue;
    }
    const problem = problemOf(handle, table);
    if (problem !== undefined) throw damaged(path, table, problem);
  }
  const took = Math.round(performance.now() - began);
  notify("info", `the database ${path} was checked and is intact (${took} ms)`);
}

function pageSize(handle: SQLite.Database): number {
  return Number(handle.pragma("page_size", { simple: true }));
}

function problemOf(handle: SQLite.Database, table: string): string | undefined {
  try {
    const found = handle.pragma(`quick_check("${table}")`, { simple: true });
    return found === "ok" ? undefined : String(found);
  } catch (error) {
    if (
      error instanceof Error &&
      "code" in error &&
      String(error.code).startsWith("SQLITE_CORRUPT")
    )
      return error.message;
    throw error;
  }
}

function damaged(path: string, table: string, problem: string): StoreError {
  const [first = ""] = problem.replace(/^\*\*\*.*\n/, "").split("\n");
  return new StoreError(
    "unusable",
    `the database ${path} is damaged (table ${table}: ${first}): restore it from a backup, or set MOORING_INTEGRITY_CHECK=off to continue with the readable part`,
  );
}
