import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";
import { SEGMENT } from "../../database/sqlite/segment.ts";
import {
  createAccess,
  createAudit,
  createDays,
  createIncidents,
  createLedger,
  createRecordStates,
  createSites,
} from "../../database/tables.ts";

/**
 * Migration steps, in the order of their names. Released steps are never edited; a schema change is a
 * new step at the end. No step is released yet: until then a change edits the first one.
 */
export const migrations: Record<string, Migration> = {
  "0001_first_schema": { up: createTables },
};

async function createTables(db: Kysely<unknown>): Promise<void> {
  await createLedger(db, {
    key: "text",
    // Exactly "integer primary key" is the row id, which needs no second tree.
    number: "integer",
    // Stores rows in the tree of the primary key: one page less per row of a commit.
    byKey: sql`without rowid`,
    indexHistory: indexInSegments,
  });
  await createSites(db);
  await createAccess(db);
  await createAudit(db);
  await createRecordStates(db);
  await createIncidents(db);
  await createDays(db);
}

/**
 * The changes of a thousand revisions are adjacent, ordered by kind and key: a commit writes the last few pages,
 * and reading a record takes one look-up per thousand (decision 0009).
 */
function indexInSegments(db: Kysely<unknown>): Promise<unknown> {
  return sql`create index change_segment on change (revision / ${sql.lit(SEGMENT)}, kind, key, revision)`.execute(
    db,
  );
}
