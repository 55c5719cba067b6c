import type { Database } from "better-sqlite3";
import { message } from "../messages/message.ts";
import { explained, openForeign } from "./foreign-database.ts";
import { LIMITS, unreadable } from "./readable.ts";
import { type ReadBackup, readSettings } from "./setting.ts";

/** Suffix of the table of settings; that server's table prefix precedes it. */
const SUFFIX = "setting_items";
const REQUIRED = ["key", "value"];
const MEMBERS = ["key", "value", "help", "type", "options", "group", "flag"];

/**
 * Reads the settings from the SQLite file of an AList or OpenList server, which may run meanwhile.
 *
 * @param table - which one to read, when the file has several of that kind.
 * @throws INVALID_ARGUMENT when there is no such table or more than one, or it can't be read.
 */
export function readAlistDatabase(path: string, table?: string): ReadBackup {
  const database = openForeign(path);
  try {
    const rows = explained(path, () => readRows(database, table ?? findTable(database, path)));
    return { source: "alist-database", settings: readSettings(rows, "rows"), skipped: [] };
  } finally {
    database.close();
  }
}

function findTable(database: Database, path: string): string {
  // Without virtual tables, which run code of their own: they have no root page.
  const tables = database
    .prepare("select name from sqlite_schema where type = 'table' and rootpage > 0 order by name")
    .pluck()
    .all() as string[];
  const found = tables.filter((name) => name.toLowerCase().endsWith(SUFFIX));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined)
    throw unreadable(
      message("BACKUP_TABLES_AMBIGUOUS", { path, tables: found.slice(0, 10).join(", ") }),
    );
  if (tables.includes("setting") && tables.includes("revision"))
    throw unreadable(message("BACKUP_OWN_DATABASE", { path }));
  throw unreadable(message("BACKUP_TABLE_NOT_FOUND", { path, suffix: SUFFIX }));
}

function readRows(database: Database, table: string): unknown[] {
  const columns = columnsOf(database, table);
  const missing = REQUIRED.filter((name) => !columns.has(name));
  if (missing.length > 0)
    throw unreadable(
      message("BACKUP_COLUMN_MISSING", { table, columns: missing.join(" and no column ") }),
    );
  checkTableSize(database, table, columns);
  const wanted = MEMBERS.filter((name) => columns.has(name)).map(quoteName);
  const order = columns.has("index") ? ' order by "index", rowid' : "";
  return database.prepare(`select ${wanted.join(", ")} from ${quoteName(table)}${order}`).all();
}

function columnsOf(database: Database, table: string): Set<string> {
  const names = database.prepare("select lower(name) from pragma_table_info(?)").pluck().all(table);
  if (names.length === 0) throw unreadable(message("BACKUP_NO_SUCH_TABLE", { table }));
  return new Set(names as string[]);
}

function checkTableSize(database: Database, table: string, columns: ReadonlySet<string>): void {
  const lengths = MEMBERS.filter((name) => columns.has(name)).map(
    (name) => `coalesce(length(${quoteName(name)}), 0)`,
  );
  const { items, size } = database
    .prepare(
      `select count(*) as items, total(${lengths.join(" + ")}) as size from ${quoteName(table)}`,
    )
    .get() as { items: number; size: number };
  if (items > LIMITS.settings || size > LIMITS.bytes)
    throw unreadable(
      message("BACKUP_TABLE_TOO_LARGE", {
        table,
        items,
        size,
        rows: LIMITS.settings,
        bytes: LIMITS.bytes,
      }),
    );
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
