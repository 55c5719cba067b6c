import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError, type StoreFailure } from "../error.ts";

/**
 * Reads a result code of SQLite (https://sqlite.org/rescode.html) or of the file system.
 *
 * @param place the database's path, for the message.
 */
export function sqliteFailure(error: unknown, place: string): StoreError {
  const [failure, text] = explain(causeOf(errorCode(error)));
  return new StoreError(failure, `the database ${place} ${text}`, error);
}

/**
 * SQLite does not say why it cannot open a file. Without a free descriptor, opening any other file
 * fails as well.
 */
function causeOf(code: string): string {
  if (!code.startsWith("SQLITE_CANTOPEN")) return code;
  try {
    closeSync(openSync(process.execPath, "r"));
    return code;
  } catch (error) {
    const found = errorCode(error);
    return found === "EMFILE" || found === "ENFILE" ? found : code;
  }
}

function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string")
    return error.code;
  return "";
}

function explain(code: string): [StoreFailure, string] {
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))
    return [
      "busy",
      "is locked by another program: close it there (a backup, a database browser), then try again",
    ];
  if (["SQLITE_FULL", "ENOSPC", "EDQUOT", "SQLITE_IOERR_SHMSIZE"].includes(code))
    return ["full", "cannot grow, because its disk is full: free some space, then try again"];
  if (code.startsWith("SQLITE_READONLY") || code === "EROFS")
    return ["failed", "is read-only: give this process the right to write the file and its folder"];
  if (code === "EMFILE" || code === "ENFILE")
    return [
      "failed",
      "cannot be opened, because too many files are open: raise the limit of open files (ulimit -n, LimitNOFILE), or close connections",
    ];
  if (code.startsWith("SQLITE_CANTOPEN") || code === "EACCES" || code === "EPERM")
    return [
      "failed",
      "cannot be opened: give this process the right to read and write the file and its folder",
    ];
  if (code === "SQLITE_NOTADB")
    return ["failed", "is not a SQLite database (or is encrypted): restore it from a backup"];
  if (code.startsWith("SQLITE_CORRUPT"))
    return ["failed", "is damaged: stop the service and restore the file from a backup"];
  if (code === "SQLITE_CONSTRAINT_UNIQUE" || code === "SQLITE_CONSTRAINT_PRIMARYKEY")
    return ["taken", "has another row with the same unique value"];
  if (code.startsWith("SQLITE_IOERR"))
    return ["failed", `could not be read or written (${code}): check its disk`];
  return ["failed", `failed${code === "" ? "" : ` (${code})`}`];
}

/** Default wait for a lock of another process, in milliseconds. */
const LOCK_WAIT = 5_000;

/**
 * Repeats work while another process holds the lock, without blocking the event loop. SQLite's own
 * wait blocks it, and some steps do not wait at all, such as the change to write-ahead logging.
 *
 * @param failureOf converts an error to the one to throw.
 * @param lockWait in milliseconds; default: 5,000.
 * @throws the result of failureOf; `busy` only after lockWait.
 */
export async function untilUnlocked<T>(
  work: () => T | Promise<T>,
  failureOf: (error: unknown) => unknown,
  lockWait = LOCK_WAIT,
): Promise<T> {
  const giveUp = Date.now() + lockWait;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const failure = failureOf(error);
      const isBusy = failure instanceof StoreError && failure.failure === "busy";
      if (!isBusy || Date.now() > giveUp) throw failure;
      // Jitter.
      await sleep(2 + Math.random() * 8);
    }
  }
}

/** Reports whether an error is one of better-sqlite3. */
export function isSqliteError(error: unknown): boolean {
  return error instanceof Error && error.name === "SqliteError";
}
