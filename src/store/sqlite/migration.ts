import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";
import { nameFloor } from "../../audit/query.ts";
import { SEGMENT } from "../../database/sqlite/segment.ts";
import {
  addEnded,
  createAccess,
  createAudit,
  createIncidents,
  createMountStates,
  createSettings,
  createSites,
} from "../../database/tables.ts";
import { appendAudit } from "./transaction.ts";

/**
 * Migration steps, in the order of their names. Released steps are never edited; a schema change is a
 * new step at the end.
 */
export const migrations: Record<string, Migration> = {
  "0001_settings_with_history": { up: createTables },
  "0002_history_index_in_segments": { up: indexInSegments },
  "0003_sites": { up: createSites },
  "0004_access": { up: createAccess },
  "0005_audit": { up: createAudit },
  "0006_ended_tokens": { up: addEnded },
  "0007_forgotten_rows_named": { up: (db) => nameFloor(db, appendAudit) },
  "0008_mount_states": { up: createMountStates },
  "0009_incidents": { up: createIncidents },
};

function createTables(db: Kysely<unknown>): Promise<void> {
  return createSettings(db, {
    key: "text",
    // Exactly "integer primary key" is the row id, which needs no second tree.
    number: "integer",
    // Stores rows in the tree of the primary key: one page less per row of a commit.
    byKey: sql`without rowid`,
  });
}

/**
 * Formerly the changes of a key were adjacent, so that changes of 64 keys wrote 64 pages. Now the
 * changes of a thousand revisions are adjacent, ordered by key: a commit writes the last few pages,
 * and reading a key takes one look-up per thousand.
 */
async function indexInSegments(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex("change_key").execute();
  await sql`create index change_segment on change (revision / ${sql.lit(SEGMENT)}, key, revision)`.execute(
    db,
  );
}
