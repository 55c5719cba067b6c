import { type Compilable, type Kysely, sql } from "kysely";
import { chain } from "../audit-chain.ts";
import type { StoredAuditRow } from "../audit-schema.ts";
import type { AuditPosition } from "../audit-store.ts";
import { StoreError } from "../error.ts";
import { changeToRow, revisionToRow, settingToRow } from "../row.ts";
import type { ChangeRow, Database, RevisionRow, SettingRow } from "../schema.ts";
import type { StoredWrite } from "../setting-store.ts";
import type { SqliteHandle } from "./handle.ts";

/**
 * Writes the rows of a commit in the transaction that is open.
 *
 * @param head asked for the newest row of the audit where there is none in its table.
 */
export type RowWriter = (rows: StoredWrite, head: () => Promise<AuditPosition>) => Promise<void>;

/**
 * Makes a writer. Kysely compiles its statements, once; they are prepared once and run without
 * Kysely, whose steps around each query take longer than SQLite takes to write a row.
 */
export function createRowWriter(handle: SqliteHandle, db: Kysely<Database>): RowWriter {
  const writeSetting = rowStatement<SettingRow>(handle, SETTING, (row) =>
    db
      .insertInto("setting")
      .values(row)
      .onConflict((conflict) =>
        conflict.column("key").doUpdateSet((eb) => ({
          value: eb.ref("excluded.value"),
          type: eb.ref("excluded.type"),
          options: eb.ref("excluded.options"),
          help: eb.ref("excluded.help"),
          group_id: eb.ref("excluded.group_id"),
          flag: eb.ref("excluded.flag"),
          origin: eb.ref("excluded.origin"),
          position: eb.ref("excluded.position"),
          revision: eb.ref("excluded.revision"),
        })),
      ),
  );
  const writeRevision = rowStatement<RevisionRow>(handle, REVISION, (row) =>
    db.insertInto("revision").values(row),
  );
  const writeChange = rowStatement<ChangeRow>(handle, CHANGE, (row) =>
    db.insertInto("change").values(row),
  );
  const writeAudit = rowStatement<StoredAuditRow>(handle, AUDIT, (row) =>
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
  const remove = handle.prepare<[string]>(
    db.deleteFrom("setting").where("key", "=", "").compile().sql,
  );
  return async ({ upserts, deletes, revisions, audit }, head) => {
    for (const setting of upserts) writeSetting(settingToRow(setting));
    for (const key of deletes) remove.run(key);
    for (const commit of revisions) {
      writeRevision(revisionToRow(commit));
      for (const change of commit.changes) writeChange(changeToRow(commit.revision, change));
    }
    if (audit.length === 0) return;
    for (const row of chain(newestAudit.get() ?? (await head()), audit)) writeAudit(row);
  };
}

/**
 * @param sample names every column; the statement takes their values in its order.
 * @param build the query for the sample.
 */
function rowStatement<Row extends object>(
  handle: SqliteHandle,
  sample: Row,
  build: (row: Row) => Compilable,
): (row: Row) => void {
  const columns = Object.keys(sample) as (keyof Row)[];
  const statement = handle.prepare<unknown[]>(build(sample).compile().sql);
  return (row) => {
    statement.run(...columns.map((column) => withoutNul(row[column], handle)));
  };
}

/** SQLite would store it, and no PostgreSQL that the database is copied to could. */
function withoutNul<T>(value: T, { name }: SqliteHandle): T {
  if (typeof value !== "string" || !value.includes("\0")) return value;
  throw new StoreError(
    "failed",
    `the database ${name} cannot store a text with a NUL character: leave it out`,
  );
}

const SETTING: SettingRow = {
  key: "",
  value: "",
  type: "",
  options: "",
  help: "",
  group_id: 0,
  flag: 0,
  origin: "custom",
  position: 0,
  revision: 0,
};

const REVISION: RevisionRow = {
  revision: 0,
  time: 0,
  actor: "",
  door: "",
  method: "",
  request_id: "",
  peer: "",
  reason: "",
};

const CHANGE: ChangeRow = {
  revision: 0,
  key: "",
  old_value: null,
  new_value: null,
  old_hash: null,
  new_hash: null,
  old_definition: null,
  new_definition: null,
};

const AUDIT: StoredAuditRow = {
  seq: 0,
  time: 0,
  actor: "",
  token_id: "",
  door: "",
  method: "",
  peer: "",
  request_id: "",
  outcome: "",
  subject: "",
  detail: "",
  prev: "",
  hash: "",
};
