import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startPeriodic } from "../../periodic.ts";
import { type Notify, StoreError, type StoreFailure } from "../error.ts";

/** Bytes of the smallest page, and so of the smallest database that is not empty. */
const MIN_SIZE = 512;
/** These files contain the token: only the service's user may read them. */
const PRIVATE = 0o600;
const OTHERS = 0o077;

/** The file, its write-ahead log and the index of the log, which SQLite creates beside it. */
function filesOf(path: string): readonly string[] {
  const real = realpathSync(path);
  return [path, `${real}-wal`, `${real}-shm`];
}

/**
 * Explains problems that SQLite reports as "unable to open database file", and rejects a read-only
 * file. This function never opens the file: closing it would release the locks that SQLite holds on
 * it in this process (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
export function checkFile(path: string): void {
  const folder = dirname(path);
  if (!existsSync(folder))
    throw new StoreError(
      "unusable",
      `the folder ${folder} for the database does not exist: create it, or set MOORING_DATABASE_URL or MOORING_DATA_DIR to another place`,
    );
  if (!existsSync(path)) return;
  const stat = statSync(path);
  if (!stat.isFile())
    throw new StoreError("unusable", `the database ${path} is not a regular file`);
  if (stat.size > 0 && stat.size < MIN_SIZE) throw noDatabase(path);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw sqliteFailure(error, path);
  }
}

/**
 * Creates a missing file with private permissions; SQLite gives its log the same ones. A new file
 * has no locks that closing it could release.
 */
export function createFile(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE));
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
}

/** Removes the permissions of other users from a database's files. */
export function tightenFiles(path: string, notify: Notify): void {
  for (const file of filesOf(path)) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & OTHERS) === 0) continue;
    const shown = `${file} (mode ${(mode & 0o777).toString(8)})`;
    try {
      chmodSync(file, mode & PRIVATE);
      notify("warn", `removed permissions of other users on ${shown}`);
    } catch (error) {
      if (!isCode(error, "EPERM")) throw error;
      notify(
        "warn",
        `other users have permissions on ${shown}, which belongs to another user: run chmod 600 on it`,
      );
    }
  }
}

/**
 * Records the files that a database has open.
 *
 * @returns a function that describes the problem when they were deleted or replaced; undefined:
 *   no problem.
 */
function watchFiles(path: string): () => string | undefined {
  if (path === ":memory:") return () => undefined;
  const opened = filesOf(path).map((file) => ({ file, identity: identityOf(file) }));
  return () => {
    for (const { file, identity } of opened) {
      const now = identityOf(file);
      if (now === identity) continue;
      return `${file} was ${now === undefined ? "deleted" : "replaced"} while the service used it`;
    }
    return undefined;
  };
}

function identityOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

export function noDatabase(path: string, cause?: unknown): StoreError {
  return new StoreError(
    "unusable",
    `${path} is not a SQLite database: set MOORING_DATABASE_URL to Mooring's own file, or move this one away`,
    cause,
  );
}

/** Creates a folder and its parents, for the data directory. */
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

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Interval of checks of the files while nothing is saved, in milliseconds. */
const INTERVAL = 500;

/** Reports whether a database's files are still the open ones. */
export interface Place {
  /** @throws StoreError when the files were deleted or replaced: a write would be lost. */
  check(): void;
  close(): void;
}

/**
 * Watches the files of an open database. After they are deleted or replaced, SQLite keeps using the
 * open ones, and everything written to them is lost.
 */
export function watchPlace(path: string, notify: Notify = () => undefined): Place {
  const loss = watchFiles(path);
  let told: string | undefined;
  const look = (): string | undefined => {
    const lost = loss();
    if (lost === told) return lost;
    if (lost !== undefined) notify("error", `${lost}: saves are refused; ${CURE}`);
    else notify("info", `the files of the database ${path} were restored`);
    told = lost;
    return lost;
  };
  const onError = (error: unknown): void => notify("error", `the database's files: ${error}`);
  const job =
    path === ":memory:" ? undefined : startPeriodic(look, { interval: INTERVAL, onError });
  return {
    check: () => {
      const lost = look();
      if (lost !== undefined) throw new StoreError("failed", `${lost}; ${CURE}`);
    },
    close: () => void job?.stop(),
  };
}

const CURE = "stop the service, put the files back or restore them from a backup, start it again";

/**
 * Reads a result code of SQLite (https://sqlite.org/rescode.html) or of the file system.
 *
 * @param place the database's path, for the message.
 */
export function sqliteFailure(error: unknown, place: string): StoreError {
  const [failure, text] = explain(errorCode(error));
  return new StoreError(failure, `the database ${place} ${text}`, error);
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
  if (code === "SQLITE_FULL" || code === "ENOSPC" || code === "SQLITE_IOERR_SHMSIZE")
    return ["full", "cannot grow, because its disk is full: free some space, then try again"];
  if (code.startsWith("SQLITE_READONLY") || code === "EROFS")
    return ["failed", "is read-only: give this process the right to write the file and its folder"];
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
