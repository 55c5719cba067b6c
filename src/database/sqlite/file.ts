import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errorText } from "../../error-text.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { startPeriodic } from "../../periodic.ts";
import { type Notify, StoreError } from "../error.ts";
import { sqliteFailure } from "./failure.ts";

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

/** @throws StoreError when the folder cannot be read. */
function identityOf(file: string): string | undefined {
  try {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}`;
  } catch (error) {
    throw sqliteFailure(error, file);
  }
}

export function noDatabase(path: string, cause?: unknown): StoreError {
  return new StoreError(
    "unusable",
    `${path} is not a SQLite database: set MOORING_DATABASE_URL to Mooring's own file, or move this one away`,
    cause,
  );
}

/** Creates the data directory and its parents. @throws StoreError. */
export async function makeDataFolder(path: string): Promise<void> {
  try {
    await makeFolder(path, 0o750);
  } catch (error) {
    const reason = errorText(error);
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

/** Free space below which a database cannot grow by a save, in bytes. */
const MIN_FREE = 64 * 1024;

/** Reports whether a database's files are still the open ones, and can grow. */
export interface Place {
  /** @throws StoreError when the files were deleted or replaced: a write would be lost. */
  check(): void;
  /** Reason for which nothing can be saved, without paths; undefined: none. */
  problem(): string | undefined;
  /** Notes a write that failed because the disk or a quota is full. */
  full(): void;
  close(): void;
}

/**
 * Watches the files of an open database. After they are deleted or replaced, SQLite keeps using the
 * open ones, and everything written to them is lost.
 */
export function watchPlace(path: string, notify: Notify = () => undefined): Place {
  const loss = watchFiles(path);
  let reported: string | undefined;
  /** Whether the last write has found no space: a quota is not visible in the free space. */
  let isFull = false;
  const check = (): string | undefined => {
    const lost = loss();
    if (lost === reported) return lost;
    if (lost !== undefined) notify("error", `${lost}: saves are refused; ${CURE}`);
    else notify("info", `the files of the database ${path} were restored`);
    reported = lost;
    return lost;
  };
  const onError = (error: unknown): void => notify("error", `the database's files: ${error}`);
  const job =
    path === ":memory:" ? undefined : startPeriodic(check, { interval: INTERVAL, onError });
  return {
    check: () => {
      const lost = check();
      if (lost !== undefined) throw new StoreError("failed", `${lost}; ${CURE}`);
    },
    problem: () => {
      if (path === ":memory:") return undefined;
      try {
        if (check() !== undefined) return "the files of the database were deleted or replaced";
        const { bavail, bsize } = statfsSync(dirname(path));
        if (isFull && canGrow(dirname(path))) isFull = false;
        return isFull || bavail * bsize < MIN_FREE ? "the disk of the database is full" : undefined;
      } catch {
        return "the folder of the database cannot be read";
      }
    },
    full: () => {
      isFull = true;
    },
    close: () => void job?.stop(),
  };
}

/** Reports whether a file in a folder can have the smallest space that a save needs. */
function canGrow(folder: string): boolean {
  const file = join(folder, `.space-${process.pid}`);
  try {
    writeFileSync(file, Buffer.alloc(MIN_FREE), { mode: 0o600 });
    return true;
  } catch (error) {
    return !(isCode(error, "ENOSPC") || isCode(error, "EDQUOT"));
  } finally {
    rmSync(file, { force: true });
  }
}

const CURE = "stop the service, put the files back or restore them from a backup, start it again";
