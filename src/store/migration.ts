import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * The schema's steps, in the order of their names. A step that has been released is never edited:
 * a change of the schema is a new step at the end.
 */
export const migrations: Record<string, Migration> = {
  "0001_settings_with_history": { up: createSettings },
  "0002_history_index_in_segments": { up: indexInSegments },
};

/** Revisions of one segment of the index that finds the changes of a key. */
export const SEGMENT = 1_024;

/** The rows stand in the tree of the primary key itself: one page less for each row of a commit. */
const WITHOUT_ROWID = sql`without rowid`;

async function createSettings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("setting")
    .addColumn("key", "text", (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("options", "text", (c) => c.notNull())
    .addColumn("help", "text", (c) => c.notNull())
    .addColumn("group_id", "integer", (c) => c.notNull())
    .addColumn("flag", "integer", (c) => c.notNull())
    .addColumn("origin", "text", (c) => c.notNull())
    .addColumn("position", "integer", (c) => c.notNull())
    .addColumn("revision", "integer", (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute();
  await db.schema
    .createTable("revision")
    // Exactly "integer primary key": then it is the row id, and no second tree is kept for it.
    .addColumn("revision", "integer", (c) => c.primaryKey())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("door", "text", (c) => c.notNull())
    .addColumn("method", "text", (c) => c.notNull())
    .addColumn("request_id", "text", (c) => c.notNull())
    .addColumn("peer", "text", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("change")
    .addColumn("revision", "bigint", (c) => c.notNull())
    .addColumn("key", "text", (c) => c.notNull())
    .addColumn("old_value", "text")
    .addColumn("new_value", "text")
    .addColumn("old_hash", "text")
    .addColumn("new_hash", "text")
    .addColumn("old_definition", "text")
    .addColumn("new_definition", "text")
    .addPrimaryKeyConstraint("change_pk", ["revision", "key"])
    .modifyEnd(WITHOUT_ROWID)
    .execute();
  await db.schema.createIndex("change_key").on("change").columns(["key", "revision"]).execute();
  await db.schema
    .createTable("meta")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .execute();
}

/**
 * The changes of a key stood together, so that changes of 64 keys wrote 64 pages. Now those of a
 * thousand revisions stand together, by key among themselves: a commit writes the last few pages, and
 * who asks for a key looks once into each thousand.
 */
async function indexInSegments(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex("change_key").execute();
  await sql`create index change_segment on change (revision / ${sql.lit(SEGMENT)}, key, revision)`.execute(
    db,
  );
}
