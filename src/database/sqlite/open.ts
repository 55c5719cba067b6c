import SQLite from "better-sqlite3";
import type { Notify } from "../error.ts";
import { StoreError } from "../error.ts";
import { sqliteFailure } from "./failure.ts";
import { checkFile, createFile, noDatabase, tightenFiles, untilUnlocked } from "./file.ts";
import { checkIntegrity, type IntegrityCheck, isLeftOpen } from "./integrity.ts";

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
