import type { Kysely, Transaction } from "kysely";
import { StoreError } from "../database/error.ts";
import type { Database } from "../database/schema.ts";
import { newestRevision } from "../ledger/query.ts";

/** Database opened for a copy or a check, with a current schema. */
export interface OpenDatabase {
  /** Address for messages. */
  readonly place: string;
  readonly db: Kysely<Database>;
  /** Runs work on one unchanging state. */
  frozen<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T>;
  /** Updates rows that are derived from the copied ones, such as heads. */
  finish(trx: Transaction<Database>, revision: number): Promise<void>;
  /** Problems of its files or pages, one sentence each. */
  damage(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Number of copied rows of a table. */
export interface CopyProgress {
  readonly table: string;
  readonly copied: number;
}

/** Rows per insert, well below the parameter limits of the dialects. */
const BATCH = 500;
/** Tables of a process, or of this database only. */
const LEFT_OUT = new Set([
  "migration",
  "migration_lock",
  "head",
  "audit_head",
  "instance",
  "lease",
]);

// biome-ignore lint/suspicious/noExplicitAny: any table, also those of later versions.
type AnyDatabase = any;
type AnyDb = Transaction<AnyDatabase>;

/**
 * Copies all rows of a database into an empty one of any dialect, in one transaction, including the
 * history, sealed secrets, and the id and keys of the database.
 *
 * @param isDry counts and validates without writing.
 * @returns the number of rows of each table.
 * @throws StoreError when the target is not empty, or the databases have different tables.
 */
export async function copyRows(
  from: OpenDatabase,
  to: OpenDatabase,
  {
    isDry,
    onProgress,
  }: { readonly isDry: boolean; readonly onProgress: (of: CopyProgress) => void },
): Promise<readonly CopyProgress[]> {
  const tables = await commonTables(from, to);
  return from.frozen((source) =>
    to.frozen(async (target) => {
      for (const { name } of tables)
        if ((await countOf(target, name)) > 0)
          throw new StoreError(
            "unusable",
            `the database ${to.place} is not empty (table ${name}): the target of a copy must be empty`,
          );
      const counts: CopyProgress[] = [];
      for (const { name, columns } of tables) {
        const report = (copied: number): void => onProgress({ table: name, copied });
        const copied = isDry
          ? await countOf(source, name)
          : await copyTable(source, target, { name, columns, report });
        counts.push({ table: name, copied });
      }
      if (isDry) return counts;
      const newest = await newestRevision(source).executeTakeFirst();
      await to.finish(target, newest?.revision ?? 0);
      for (const { table, copied } of counts)
        if ((await countOf(target, table)) !== copied)
          throw new StoreError("failed", `the table ${table} was not copied completely`);
      return counts;
    }),
  );
}

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

async function commonTables(from: OpenDatabase, to: OpenDatabase): Promise<readonly Table[]> {
  const [source, target] = await Promise.all([tablesOf(from), tablesOf(to)]);
  const shown = (tables: readonly Table[]): string =>
    tables.map(({ name, columns }) => `${name}(${columns.join(", ")})`).join(" ");
  if (shown(source) !== shown(target))
    throw new StoreError(
      "unusable",
      `the databases ${from.place} and ${to.place} have different tables: ${shown(source)} and ${shown(target)}`,
    );
  return source;
}

async function tablesOf({ db }: OpenDatabase): Promise<readonly Table[]> {
  const tables = await db.introspection.getTables();
  return tables
    .filter(({ name, isView }) => !isView && !LEFT_OUT.has(name))
    .map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name).sort() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function countOf(db: AnyDb, table: string): Promise<number> {
  const row = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll().as("count"))
    .executeTakeFirst();
  return Number(row?.["count"] ?? 0);
}

async function copyTable(
  source: AnyDb,
  target: AnyDb,
  { name, columns, report }: Table & { readonly report: (copied: number) => void },
): Promise<number> {
  let copied = 0;
  for await (const rows of batchesOf(source, name, columns)) {
    refuseNul(name, rows);
    await target.insertInto(name).values(rows).execute();
    copied += rows.length;
    report(copied);
  }
  return copied;
}

/**
 * Reports the row of a NUL character, which older versions accepted in SQLite; PostgreSQL's error does
 * not name the row.
 */
function refuseNul(table: string, rows: readonly Record<string, unknown>[]): void {
  for (const row of rows)
    for (const [column, value] of Object.entries(row))
      if (typeof value === "string" && value.includes("\0")) {
        const which = ["revision", "kind", "key", "name", "id"].filter((name) => name in row);
        const place = which.map((name) => `${name} ${JSON.stringify(row[name])}`).join(", ");
        throw new StoreError(
          "unusable",
          `the ${column} of ${place} in the table ${table} has a NUL character, which cannot be copied: save it without this character, or delete it from the history (MOORING_HISTORY_REVISIONS)`,
        );
      }
}

/** Columns by which large tables are paged: offsets take longer with each page. */
const NUMBERED: Readonly<Record<string, string>> = {
  revision: "revision",
  change: "revision",
  audit: "seq",
};

/** Reads a table in batches, by its number column if it has one. */
async function* batchesOf(
  db: AnyDb,
  name: string,
  columns: readonly string[],
): AsyncIterable<Record<string, unknown>[]> {
  const number = NUMBERED[name];
  for (let after = -1, offset = 0; ; ) {
    let query = db.selectFrom(name).select([...columns]);
    if (number !== undefined) query = query.where(number, ">", after).orderBy(number);
    else for (const column of columns) query = query.orderBy(column);
    const page = await query
      .limit(BATCH)
      .offset(number === undefined ? offset : 0)
      .execute();
    if (page.length === 0) return;
    if (number === undefined) {
      offset += page.length;
      yield page;
      continue;
    }
    // All rows of a number go together: the next batch begins after it.
    const last = page.at(-1)?.[number];
    const whole = page.filter((row) => row[number] !== last);
    if (whole.length > 0) yield whole;
    const rest = await db
      .selectFrom(name)
      .select([...columns])
      .where(number, "=", last)
      .execute();
    for (let at = 0; at < rest.length; at += BATCH) yield rest.slice(at, at + BATCH);
    after = last;
  }
}
