import type { Kysely } from "kysely";

/** Sites, what is known of each, what was done there, and who does it. */
export async function createSites(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("site")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("url", "text", (c) => c.notNull())
    .addColumn("address", "text", (c) => c.notNull().unique())
    .addColumn("token", "text", (c) => c.notNull())
    .addColumn("ca", "text", (c) => c.notNull())
    .addColumn("pin", "text", (c) => c.notNull())
    .addColumn("mode", "text", (c) => c.notNull())
    .addColumn("include", "text", (c) => c.notNull())
    .addColumn("exclude", "text", (c) => c.notNull())
    .addColumn("overrides", "text", (c) => c.notNull())
    .addColumn("paused", "integer", (c) => c.notNull())
    .addColumn("upstream", "integer", (c) => c.notNull())
    .addColumn("created", "bigint", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("site_state")
    .addColumn("site_id", "text", (c) => c.primaryKey())
    .addColumn("version", "bigint", (c) => c.notNull())
    .addColumn("applied_revision", "bigint", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("site_log")
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("seq", "bigint", (c) => c.notNull())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("action", "text", (c) => c.notNull())
    .addColumn("revision", "bigint", (c) => c.notNull())
    .addColumn("keys", "text", (c) => c.notNull())
    .addColumn("result", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("site_log_pk", ["site_id", "seq"])
    .execute();
  await db.schema
    .createTable("lease")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("holder", "text", (c) => c.notNull())
    .addColumn("expires", "bigint", (c) => c.notNull())
    .execute();
}
