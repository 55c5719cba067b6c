import type { Kysely } from "kysely";

/**
 * Who did what.
 *
 * @param number the type of a row's number. For SQLite exactly `integer`, the default: then it is the
 *   row id, and no second tree is kept for it.
 */
export async function createAudit(
  db: Kysely<unknown>,
  number: "integer" | "bigint" = "integer",
): Promise<void> {
  await db.schema
    .createTable("audit")
    .addColumn("seq", number, (c) => c.primaryKey())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("token_id", "text", (c) => c.notNull())
    .addColumn("door", "text", (c) => c.notNull())
    .addColumn("method", "text", (c) => c.notNull())
    .addColumn("peer", "text", (c) => c.notNull())
    .addColumn("request_id", "text", (c) => c.notNull())
    .addColumn("outcome", "text", (c) => c.notNull())
    .addColumn("subject", "text", (c) => c.notNull())
    .addColumn("detail", "text", (c) => c.notNull())
    .addColumn("prev", "text", (c) => c.notNull())
    .addColumn("hash", "text", (c) => c.notNull())
    .execute();
}
