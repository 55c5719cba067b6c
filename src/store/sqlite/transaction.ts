import type SQLite from "better-sqlite3";
import { type Compilable, type Kysely, sql } from "kysely";
import { chain, rowAfter } from "../../audit/chain.ts";
import { doneEntry } from "../../audit/entry.ts";
import { type AppendAudit, readAuditHead } from "../../audit/query.ts";
import type { AuditPosition } from "../../audit/store.ts";
import { StoreError } from "../../database/error.ts";
import {
  type ChangeRow,
  changeColumns,
  type Database,
  type RecordRow,
  type RevisionRow,
  recordColumns,
  revisionColumns,
} from "../../database/schema.ts";
import { START } from "../../database/tables.ts";
import { newestRevision, readDelta, readState } from "../../ledger/query.ts";
import { changeToRow, recordToRow, revisionToRow } from "../../ledger/row.ts";
import type { LedgerTransaction, StoredWrite } from "../../ledger/store.ts";
import { createTicks } from "../../ticks.ts";

/** Runs work in a transaction; rejects with what the work or SQLite throws. */
export type Transact = <T>(work: (transaction: LedgerTransaction) => Promise<T>) => Promise<T>;

/**
 * Creates the transactions of saves. They take the write lock at once; the statements of saves are
 * prepared once.
 */
export function createTransact(handle: SQLite.Database, db: Kysely<Database>): Transact {
  const begin = handle.prepare("begin immediate");
  const commit = handle.prepare("commit");
  const newest = handle.prepare<[], number | null>(newestRevision(db).compile().sql).pluck();
  const writeRows = createRowWriter(handle, db);
  // Kysely has one connection, so that no other query runs during the transaction.
  return (work) =>
    db.connection().execute(async (connection) => {
      begin.run();
      try {
        const result = await work({
          revision: async () => newest.get() ?? 0,
          delta: (after) => readDelta(connection, after),
          load: () => readState(connection),
          write: (rows) => writeRows(rows, () => readAuditHead(connection)),
        });
        commit.run();
        return result;
      } catch (error) {
        // SQLite rolls back itself after some failures, such as a full disk.
        if (handle.inTransaction) handle.exec("rollback");
        throw error;
      }
    });
}

/**
 * Writes the rows of a commit in the open transaction.
 *
 * @param head returns the newest row of the audit if its table has none.
 */
type RowWriter = (rows: StoredWrite, head: () => Promise<AuditPosition>) => Promise<void>;

/**
 * Creates a writer whose statements are compiled by Kysely, prepared once, and run without Kysely,
 * whose overhead per query exceeds the time of writing a row.
 */
function createRowWriter(handle: SQLite.Database, db: Kysely<Database>): RowWriter {
  const writeRecord = rowStatement(handle, namesOf(recordColumns), (row: RecordRow) =>
    db
      .insertInto("record")
      .values(row)
      .onConflict((conflict) => conflict.columns(["kind", "key"]).doUpdateSet(REPLACED_RECORD)),
  );
  const writeRevision = rowStatement(handle, namesOf(revisionColumns), (row: RevisionRow) =>
    db.insertInto("revision").values(row),
  );
  const writeChange = rowStatement(handle, namesOf(changeColumns), (row: ChangeRow) =>
    db.insertInto("change").values(row),
  );
  const writeAudit = rowStatement(handle, namesOf(AUDIT), (row) =>
    db.insertInto("audit").values(row),
  );
  const newestAudit = handle.prepare<[], AuditPosition>(
    db
      .selectFrom("audit")
      .select(["seq", "hash"])
      .orderBy("seq", "desc")
      .limit(sql.lit(1))
      .compile().sql,
  );
  const remove = handle.prepare<[string, string]>(
    db.deleteFrom("record").where("kind", "=", "").where("key", "=", "").compile().sql,
  );
  return async ({ upserts, deletes, revisions, audit }, head) => {
    const ticks = createTicks();
    for (const record of upserts) {
      if (ticks.isDue()) await ticks.next();
      writeRecord(recordToRow(record));
    }
    for (const { kind, key } of deletes) {
      if (ticks.isDue()) await ticks.next();
      remove.run(kind, key);
    }
    for (const commit of revisions) {
      writeRevision(revisionToRow(commit));
      for (const change of commit.changes) {
        if (ticks.isDue()) await ticks.next();
        writeChange(changeToRow(commit.revision, change));
      }
    }
    if (audit.length === 0) return;
    for (const row of chain(newestAudit.get() ?? (await head()), audit)) writeAudit(row);
  };
}

function namesOf<Row extends object>(row: Row): readonly (keyof Row & string)[] {
  return Object.keys(row) as (keyof Row & string)[];
}

/** Columns of an inserted record, without its name, which replace the stored ones. */
const REPLACED_RECORD = Object.fromEntries(
  namesOf(recordColumns)
    .filter((name) => name !== "kind" && name !== "key")
    .map((name) => [name, sql.ref(`excluded.${name}`)]),
);

/** A prepared insert of the columns. @param build the query for a row that has them in this order. */
function rowStatement<Row extends object>(
  handle: SQLite.Database,
  columns: readonly (keyof Row & string)[],
  build: (row: Row) => Compilable,
): (row: Row) => void {
  const sample = Object.fromEntries(columns.map((name) => [name, ""])) as unknown as Row;
  const statement = handle.prepare<unknown[]>(build(sample).compile().sql);
  return (row) => {
    const values = columns.map((name) => row[name]);
    if (values.some(hasNul))
      throw new StoreError(
        "failed",
        `the database ${handle.name} cannot store a text with a NUL character: remove it`,
      );
    statement.run(...values);
  };
}

/** PostgreSQL does not store NUL as SQLite does, and the database may be copied there. */
function hasNul(value: unknown): boolean {
  return typeof value === "string" && value.includes("\0");
}

const ORIGIN = { actor: "", transport: "", method: "", requestId: "", peer: "" };

const AUDIT = rowAfter(START, doneEntry(ORIGIN, 0, [], {}));

/** Rows per insert: SQLite limits parameters. */
const BATCH = 500;

/** Appends to the audit in a transaction, which already holds the write lock. */
export const appendAudit: AppendAudit = async (trx, entries) => {
  if (entries.length === 0) return;
  const rows = chain(await readAuditHead(trx), entries);
  for (let at = 0; at < rows.length; at += BATCH)
    await trx
      .insertInto("audit")
      .values(rows.slice(at, at + BATCH))
      .execute();
};
