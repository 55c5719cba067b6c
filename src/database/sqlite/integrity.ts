import { statSync } from "node:fs";
import type SQLite from "better-sqlite3";
import type { Notify } from "../error.ts";
import { StoreError } from "../error.ts";

/** Check of all pages at a start: after an unclean stop, always, or never. */
export type IntegrityCheck = "auto" | "always" | "off";

/** Maximum size of a database whose history is checked by default, in bytes: about a second. */
const MAX_UNASKED = 512 * 1024 * 1024;
/** Table of the history's changes, which is most of a large database. */
const LARGEST = "change";

/** Reports whether the log has content: the last connection to close the database removes it. */
export function isLeftOpen(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
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
