import type { ColumnDataType, CreateTableBuilder, Expression, Kysely } from "kysely";

/** Differences between the dialects. */
export interface Ways {
  /** Text that is compared byte by byte. */
  readonly key: ColumnDataType | Expression<unknown>;
  /** A whole number of 64 bits, which may be a table's primary key. */
  readonly number: ColumnDataType;
  /** Suffix of a table that is read by its key. */
  readonly byKey?: Expression<unknown>;
  /** Creates the index of the history by key. */
  readonly indexHistory: (db: Kysely<unknown>) => Promise<unknown>;
}

/** Tables of records, their history, and facts about the database. */
export async function createLedger(
  db: Kysely<unknown>,
  { key, number, byKey, indexHistory }: Ways,
): Promise<void> {
  const readByKey = <T extends string>(table: CreateTableBuilder<T>): CreateTableBuilder<T> =>
    byKey === undefined ? table : table.modifyEnd(byKey);
  const record = db.schema
    .createTable("record")
    .addColumn("kind", key, (c) => c.notNull())
    .addColumn("key", key, (c) => c.notNull())
    .addColumn("body", "text")
    .addColumn("attributes", "text", (c) => c.notNull())
    .addColumn("secrets", "text")
    .addColumn("position", "integer", (c) => c.notNull())
    .addColumn("revision", number, (c) => c.notNull())
    .addPrimaryKeyConstraint("record_pk", ["kind", "key"]);
  await readByKey(record).execute();
  await db.schema
    .createTable("revision")
    .addColumn("revision", number, (c) => c.primaryKey())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("transport", "text", (c) => c.notNull())
    .addColumn("method", "text", (c) => c.notNull())
    .addColumn("request_id", "text", (c) => c.notNull())
    .addColumn("peer", "text", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .addColumn("mark", "text", (c) => c.notNull())
    .execute();
  const change = db.schema
    .createTable("change")
    .addColumn("revision", "bigint", (c) => c.notNull())
    .addColumn("kind", key, (c) => c.notNull())
    .addColumn("key", key, (c) => c.notNull())
    .addColumn("old_body", "text")
    .addColumn("new_body", "text")
    .addColumn("old_attributes", "text")
    .addColumn("new_attributes", "text")
    .addColumn("old_hashes", "text")
    .addColumn("new_hashes", "text")
    .addPrimaryKeyConstraint("change_pk", ["revision", "kind", "key"]);
  await readByKey(change).execute();
  await indexHistory(db);
  await db.schema
    .createTable("meta")
    .addColumn("name", key, (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .execute();
}

/** Tables of principals and tokens. */
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
    // Observed end of the token, for its deletion.
    .addColumn("ended_at", "bigint")
    .addColumn("version", "bigint", (c) => c.notNull())
    .execute();
  // Used for reading the changes of other processes.
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

/** Tables of sites, their states and logs, and of leases. */
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
    .addColumn("restoring", "bigint", (c) => c.notNull())
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

/** States of records on sites. */
export async function createRecordStates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("record_state")
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("kind", "text", (c) => c.notNull())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("record_state_pk", ["site_id", "kind", "name"])
    .execute();
}

/** Tables of incidents and webhooks. */
export async function createIncidents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("incident")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("subject", "text", (c) => c.notNull())
    .addColumn("name", "text", (c) => c.notNull())
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("mount_path", "text", (c) => c.notNull())
    .addColumn("driver", "text", (c) => c.notNull())
    .addColumn("class", "text", (c) => c.notNull())
    .addColumn("source", "text", (c) => c.notNull())
    .addColumn("message", "text", (c) => c.notNull())
    .addColumn("opened_at", "bigint", (c) => c.notNull())
    .addColumn("changed_at", "bigint", (c) => c.notNull())
    .addColumn("closed_at", "bigint", (c) => c.notNull())
    .addColumn("acknowledged_at", "bigint", (c) => c.notNull())
    .addColumn("acknowledged_by", "text", (c) => c.notNull())
    .addColumn("note", "text", (c) => c.notNull())
    .addColumn("signals", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex("incident_closed")
    .on("incident")
    .columns(["closed_at", "opened_at"])
    .execute();
  await db.schema
    .createTable("webhook")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("format", "text", (c) => c.notNull())
    .addColumn("options", "text", (c) => c.notNull())
    .addColumn("url", "text", (c) => c.notNull())
    .addColumn("secret", "text", (c) => c.notNull())
    .addColumn("classes", "text", (c) => c.notNull())
    .addColumn("sites", "text", (c) => c.notNull())
    .addColumn("language", "text", (c) => c.notNull())
    .addColumn("disabled", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("created_by", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("webhook_delivery")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("webhook_id", "text", (c) => c.notNull())
    .addColumn("incident_id", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("cause", "text", (c) => c.notNull())
    .addColumn("body", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("next_try", "bigint", (c) => c.notNull())
    .addColumn("status", "integer", (c) => c.notNull())
    .addColumn("error", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex("webhook_delivery_due")
    .on("webhook_delivery")
    .columns(["state", "next_try"])
    .execute();
  await db.schema
    .createIndex("webhook_delivery_log")
    .on("webhook_delivery")
    .columns(["webhook_id", "created_at"])
    .execute();
}

/** Tables of the last days of sites and mounts. Times are milliseconds. */
export async function createDays(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("site_day")
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("day", "integer", (c) => c.notNull())
    .addColumn("worked", "bigint", (c) => c.notNull())
    .addColumn("failed", "bigint", (c) => c.notNull())
    .addColumn("counted_to", "bigint", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("site_day_pk", ["site_id", "day"])
    .execute();
  await db.schema
    .createTable("mount_span")
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("path", "text", (c) => c.notNull())
    .addColumn("first_day", "integer", (c) => c.notNull())
    .addColumn("first_at", "bigint", (c) => c.notNull())
    .addColumn("state", "text", (c) => c.notNull())
    .addColumn("day", "integer", (c) => c.notNull())
    .addColumn("began", "bigint", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("mount_span_pk", ["site_id", "path"])
    .execute();
  await db.schema
    .createTable("mount_day")
    .addColumn("site_id", "text", (c) => c.notNull())
    .addColumn("path", "text", (c) => c.notNull())
    .addColumn("day", "integer", (c) => c.notNull())
    .addColumn("failed", "bigint", (c) => c.notNull())
    .addColumn("unmonitored", "bigint", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .addPrimaryKeyConstraint("mount_day_pk", ["site_id", "path", "day"])
    .execute();
}

/**
 * Audit tables.
 *
 * @param number type of the row number. For SQLite exactly `integer`, the default: then it is the
 * row id, and needs no second tree.
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
    .addColumn("transport", "text", (c) => c.notNull())
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

/** Position before the first row of the audit chain. */
export const START: { readonly seq: number; readonly hash: string } = {
  seq: 0,
  hash: "0".repeat(64),
};
