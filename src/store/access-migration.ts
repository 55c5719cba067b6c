import type { Kysely } from "kysely";

/** Who may do what. */
export async function createAccess(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("principal")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("created_by", "text", (c) => c.notNull())
    .addColumn("disabled_at", "bigint")
    .addColumn("version", "bigint", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("access_token")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("principal_id", "text", (c) => c.notNull())
    .addColumn("hash", "text", (c) => c.notNull())
    .addColumn("scopes", "text", (c) => c.notNull())
    .addColumn("limits", "text", (c) => c.notNull())
    .addColumn("comment", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("created_by", "text", (c) => c.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("not_after", "bigint")
    .addColumn("replaced_by", "text")
    .addColumn("revoked_at", "bigint")
    .addColumn("revoked_by", "text")
    .addColumn("version", "bigint", (c) => c.notNull())
    .execute();
  // What other processes have changed is read by it.
  await db.schema
    .createIndex("access_token_version")
    .on("access_token")
    .column("version")
    .execute();
  await db.schema
    .createTable("token_use")
    .addColumn("token_id", "text", (c) => c.primaryKey())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("peer", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("access_head")
    .addColumn("id", "integer", (c) => c.primaryKey())
    .addColumn("version", "bigint", (c) => c.notNull())
    .execute();
}

/** Since when tokens have ended, so that they are forgotten some day. */
export async function addEnded(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("access_token").addColumn("ended_at", "bigint").execute();
}
