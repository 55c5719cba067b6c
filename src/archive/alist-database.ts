import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import SQLite, { type Database } from "better-sqlite3";
import { message } from "../messages/message.ts";
import { LIMITS, unreadable } from "./readable.ts";

/** A table of such a server. */
interface Table {
  /** Member of a backup of the web page with the same rows. */
  readonly member: string;
  /** End of its name; that server's table prefix precedes it. */
  readonly suffix: string;
  readonly required: readonly string[];
  /** Columns to read; undefined: all. */
  readonly members?: readonly string[];
  readonly order: string;
  /** Maximum number of rows. */
  readonly rows: number;
}

const SETTINGS: Table = {
  member: "settings",
  suffix: "setting_items",
  required: ["key", "value"],
  members: ["key", "value", "help", "type", "options", "group", "flag"],
  order: "index",
  rows: LIMITS.settings,
};

const STORAGES: Table = {
  member: "storages",
  suffix: "storages",
  required: ["mount_path", "driver", "addition"],
  order: "order",
  rows: LIMITS.storages,
};

const METAS: Table = {
  member: "metas",
  suffix: "meta",
  required: ["path", "password"],
  order: "id",
  rows: LIMITS.storages,
};

/** Tables whose rows are read. */
const READ: readonly Table[] = [SETTINGS, STORAGES, METAS];

/** Tables of which only the rows are counted, by the members of a backup of the web page. */
const COUNTED: Readonly<Record<string, string>> = {
  users: "users",
  sharing_dbs: "shares",
};

/**
 * Reads the SQLite file of an AList or OpenList server, which may run meanwhile, in the form of a
 * backup of its web page: the rows of settings, storages and metas (bools are 0 and 1), and the
 * numbers of users and shares.
 *
 * @param table - name of the table of settings or storages, when the file has several sites.
 * @throws INVALID_ARGUMENT when there is no such table or more than one, or the file can't be
 *   read.
 */
export function readServerDatabase(path: string, table?: string): Record<string, unknown> {
  return reading(path, (database) => {
    const tables = tablesOf(database);
    const isKnown = [SETTINGS, STORAGES].some(({ suffix }) => isOf(table ?? "", suffix));
    // A table with another name is one of settings.
    if (table !== undefined && !isKnown) return { settings: readRows(database, table, SETTINGS) };
    const chosen = table ?? findTable(tables, path);
    if (table !== undefined && !tables.includes(table))
      throw unreadable(message("BACKUP_NO_SUCH_TABLE", { table }));
    const prefix = prefixOf(chosen);
    const named = (suffix: string): string | undefined =>
      tables.find((name) => isOf(name, suffix) && prefixOf(name, suffix) === prefix);
    const lists = READ.flatMap((each) => {
      const name = named(each.suffix);
      return name === undefined ? [] : [[each.member, readRows(database, name, each)]];
    });
    const counts = Object.entries(COUNTED).flatMap(([suffix, member]) => {
      const name = named(suffix);
      return name === undefined ? [] : [[member, countRows(database, name)]];
    });
    return Object.fromEntries([...lists, ...counts]);
  });
}

function isOf(table: string, suffix: string): boolean {
  return table.toLowerCase().endsWith(suffix);
}

/** Table prefix of a server, in its tables' names. */
function prefixOf(table: string, suffix?: string): string {
  const known = suffix ?? (isOf(table, SETTINGS.suffix) ? SETTINGS.suffix : STORAGES.suffix);
  return table.slice(0, -known.length);
}

function reading<T>(path: string, read: (database: Database) => T): T {
  const database = openForeign(path);
  try {
    return explained(path, () => read(database));
  } finally {
    database.close();
  }
}

function countRows(database: Database, table: string): number {
  return database
    .prepare(`select count(*) from ${quoteName(table)}`)
    .pluck()
    .get() as number;
}

/** Names of the tables, without virtual ones, which run code of their own; they have no root page. */
function tablesOf(database: Database): string[] {
  return database
    .prepare("select name from sqlite_schema where type = 'table' and rootpage > 0 order by name")
    .pluck()
    .all() as string[];
}

/** A table of the one server in the file. */
function findTable(tables: readonly string[], path: string): string {
  const found = [SETTINGS, STORAGES].flatMap(({ suffix }) =>
    tables.filter((name) => isOf(name, suffix)),
  );
  const prefixes = new Set(found.map((name) => prefixOf(name)));
  const [only] = found;
  if (only !== undefined && prefixes.size === 1) return only;
  if (only !== undefined)
    throw unreadable(
      message("BACKUP_TABLES_AMBIGUOUS", { path, tables: found.slice(0, 10).join(", ") }),
    );
  if (tables.includes("setting") && tables.includes("revision"))
    throw unreadable(message("BACKUP_OWN_DATABASE", { path }));
  throw unreadable(message("BACKUP_TABLE_NOT_FOUND", { path, suffix: SETTINGS.suffix }));
}

function readRows(database: Database, name: string, table: Table): unknown[] {
  const columns = columnsOf(database, name);
  const missing = table.required.filter((column) => !columns.has(column));
  if (missing.length > 0)
    throw unreadable(
      message("BACKUP_COLUMN_MISSING", {
        table: name,
        columns: missing.join(" and no column "),
      }),
    );
  const members = (table.members ?? [...columns]).filter((column) => columns.has(column));
  checkTableSize(database, name, members, table.rows);
  const wanted = members.map(quoteName);
  const order = columns.has(table.order) ? ` order by ${quoteName(table.order)}, rowid` : "";
  return database.prepare(`select ${wanted.join(", ")} from ${quoteName(name)}${order}`).all();
}

function columnsOf(database: Database, table: string): Set<string> {
  const names = database.prepare("select lower(name) from pragma_table_info(?)").pluck().all(table);
  if (names.length === 0) throw unreadable(message("BACKUP_NO_SUCH_TABLE", { table }));
  return new Set(names as string[]);
}

function checkTableSize(
  database: Database,
  table: string,
  members: readonly string[],
  rows: number,
): void {
  const lengths = members.map((name) => `coalesce(length(${quoteName(name)}), 0)`);
  const { items, size } = database
    .prepare(
      `select count(*) as items, total(${lengths.join(" + ")}) as size from ${quoteName(table)}`,
    )
    .get() as { items: number; size: number };
  if (items > rows || size > LIMITS.bytes)
    throw unreadable(
      message("BACKUP_TABLE_TOO_LARGE", { table, items, size, rows, bytes: LIMITS.bytes }),
    );
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Maximum wait for a lock of the other program, in milliseconds. */
const LOCK_WAIT = 5_000;
/** Maximum size of a file that is copied into memory, in bytes. */
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
 * @throws INVALID_ARGUMENT with advice when the file cannot be read.
 */
function openForeign(path: string): SQLite.Database {
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
 * @throws INVALID_ARGUMENT with advice when SQLite cannot read it.
 */
function explained<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SQLite.SqliteError ? unreadable(explain(path, error)) : error;
  }
}

/** @returns the content of the file when it has no write-ahead log and is not too large. */
function copyOfClosed(path: string): Buffer | undefined {
  const before = statSync(path, { bigint: true });
  if (before.size > IN_MEMORY_MAX || hasLog(path) || !isWal(path)) return undefined;
  const bytes = readFileSync(path);
  const after = statSync(path, { bigint: true });
  // Another program has opened it in the meantime: SQLite's own locks are needed.
  if (hasLog(path) || before.mtimeNs !== after.mtimeNs || before.size !== after.size)
    return undefined;
  // A database in memory has no write-ahead log; the versions have no other meaning.
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
