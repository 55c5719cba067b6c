import type { Compilable, Kysely } from "kysely";
import { changeToRow, revisionToRow, settingToRow } from "./row.ts";
import type { ChangeRow, Database, RevisionRow, SettingRow } from "./schema.ts";
import type { StoredWrite } from "./setting-store.ts";
import type { SqliteHandle } from "./sqlite.ts";

/** Writes the rows of a commit in the transaction that is open. */
export type RowWriter = (rows: StoredWrite) => void;

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
  const remove = handle.prepare<[string]>(
    db.deleteFrom("setting").where("key", "=", "").compile().sql,
  );
  return ({ upserts, deletes, revisions }) => {
    for (const setting of upserts) writeSetting(settingToRow(setting));
    for (const key of deletes) remove.run(key);
    for (const commit of revisions) {
      writeRevision(revisionToRow(commit));
      for (const change of commit.changes) writeChange(changeToRow(commit.revision, change));
    }
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
    statement.run(columns.map((column) => row[column]));
  };
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
