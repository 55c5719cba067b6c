import { CompiledQuery } from "kysely";
import { TIMELINE } from "../../database/postgres/server.ts";
import { changeColumns, revisionColumns, settingColumns } from "../../database/schema.ts";
import { changeToRow, revisionToRow, settingToRow } from "../../settings/row.ts";
import type { StoredWrite } from "../../settings/store.ts";
import { auditParameters, auditParts } from "./audit.ts";

/** Precondition of a write. */
export interface WriteBase {
  /** Newest revision known to the writer. */
  readonly revision: number;
  /** Timeline of the revision; undefined: the lock is held, which rules out a promotion. */
  readonly timeline: string | undefined;
}

/**
 * Statement that writes all rows of several saves. Returns one row, or none if another revision is the
 * newest, in which case nothing is written.
 */
export function writeStatement(rows: StoredWrite, base: WriteBase): CompiledQuery {
  const settings = rows.upserts.map(settingToRow);
  const revisions = rows.revisions.map(revisionToRow);
  const changes = rows.revisions.flatMap(({ revision, changes }) =>
    changes.map((change) => changeToRow(revision, change)),
  );
  return CompiledQuery.raw(STATEMENT, [
    base.revision,
    base.timeline ?? null,
    rows.revisions.at(-1)?.revision ?? base.revision,
    rows.deletes,
    ...columnsOf(settingColumns, settings),
    ...columnsOf(revisionColumns, revisions),
    ...columnsOf(changeColumns, changes),
    ...auditParameters(rows.audit),
  ]);
}

/** An array for each column: the number of parameters does not depend on the number of rows. */
function columnsOf<Row extends object>(
  columns: Readonly<Record<keyof Row, string>>,
  rows: readonly Row[],
): unknown[][] {
  return (Object.keys(columns) as (keyof Row)[]).map((name) => rows.map((row) => row[name]));
}

const FIRST_ARRAY = 5;

const STATEMENT = makeStatement();

function makeStatement(): string {
  let next = FIRST_ARRAY;
  const rowsOf = (columns: Readonly<Record<string, string>>): string => {
    const names = Object.keys(columns).join(", ");
    const arrays = Object.values(columns).map((type) => `$${next++}::${type}[]`);
    return `(${names}) select x.* from moved, unnest(${arrays.join(", ")}) as x(${names})`;
  };
  const replaced = Object.keys(settingColumns)
    .filter((name) => name !== "key")
    .map((name) => `${name} = excluded.${name}`)
    .join(", ");
  return `with recursive moved as (
  update head set revision = $3::bigint
  where id = 1 and revision = $1::bigint and ($2::text is null or ${TIMELINE} = $2::text)
  returning revision
), upserted as (
  insert into setting ${rowsOf(settingColumns)} on conflict (key) do update set ${replaced}
), deleted as (
  delete from setting using moved where key = any($4::text[])
), made as (
  insert into revision ${rowsOf(revisionColumns)}
), changed as (
  insert into change ${rowsOf(changeColumns)}
), ${auditParts(next, "moved")}
select revision from moved`;
}
