import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import SQLite from "better-sqlite3";
import { unreadable } from "./readable.ts";

/** Maximum wait for a lock of the other program, in milliseconds. */
const LOCK_WAIT = 5_000;
/** Largest file that is read into memory to leave nothing behind. */
const IN_MEMORY_MAX = 256 * 1024 * 1024;
/** Write and read version of the file (SQLite file format, section 1.3.3): 1 journal, 2 WAL. */
const VERSION_AT = [18, 19] as const;
const JOURNAL = 1;
const WAL = 2;

/**
 * Opens another program's SQLite database for reading, also while that program writes.
 *
 * A file in WAL mode without an open connection is read from a copy in memory: SQLite would
 * otherwise create files beside it, possibly with an owner that the other program cannot use, and
 * it could not read a database in a folder that is mounted read-only.
 *
 * @throws INVALID_ARGUMENT with the cure when it cannot be read.
 */
export function openForeign(path: string): SQLite.Database {
  let handle: SQLite.Database | undefined;
  try {
    const copy = copyOfClosed(path);
    handle = new SQLite(copy ?? path, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT });
    // A schema of unknown origin must not run functions.
    handle.pragma("trusted_schema = OFF");
    handle.prepare("select count(*) from sqlite_schema").get();
    return handle;
  } catch (error) {
    handle?.close();
    throw unreadable(explain(path, error));
  }
}

/**
 * Reads from a foreign database.
 *
 * @throws INVALID_ARGUMENT with the cure when SQLite cannot read it.
 */
export function explained<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SQLite.SqliteError ? unreadable(explain(path, error)) : error;
  }
}

/** @returns the whole file when there is nothing in a write-ahead log and it is not too large. */
function copyOfClosed(path: string): Buffer | undefined {
  const before = statSync(path, { bigint: true });
  if (before.size > IN_MEMORY_MAX || hasLog(path) || !isWal(path)) return undefined;
  const bytes = readFileSync(path);
  const after = statSync(path, { bigint: true });
  // Another program has opened it in the meantime: SQLite's own locks are needed.
  if (hasLog(path) || before.mtimeNs !== after.mtimeNs || before.size !== after.size)
    return undefined;
  // Memory has no write-ahead log, and without one the versions mean nothing else.
  for (const at of VERSION_AT) bytes[at] = JOURNAL;
  return bytes;
}

function isWal(path: string): boolean {
  const header = Buffer.alloc(VERSION_AT[1] + 1);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  return header[VERSION_AT[1]] === WAL;
}

function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function explain(path: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("SQLITE_BUSY"))
    return `the database ${path} is locked by the program that uses it: try again, or stop that program for the import`;
  if (code.startsWith("SQLITE_CANTOPEN") || code.startsWith("SQLITE_READONLY"))
    return `the database ${path} has changes in ${path}-wal that can't be read from here: copy both files to a folder that this user may write to, and import that copy`;
  if (code.startsWith("SQLITE_NOTADB") || code.startsWith("SQLITE_CORRUPT"))
    return `the database ${path} is damaged or encrypted and can't be read: take a backup of it, or repair it ("sqlite3 FILE .recover") and import that`;
  return `the database ${path} can't be read (${code === "" ? "unknown error" : code})`;
}
