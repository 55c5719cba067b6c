import type { ColumnDataType, CreateTableBuilder, Expression, Kysely } from "kysely";

/** What each database writes in its own way. */
export interface Ways {
  /** Text that is compared byte by byte. */
  readonly key: ColumnDataType | Expression<unknown>;
  /** A whole number of 64 bits, which may be a table's primary key. */
  readonly number: ColumnDataType;
  /** What is added to a table that is read by its key. */
  readonly byKey?: Expression<unknown>;
}

/** Settings, their history, and the database's facts about itself. */
export async function createSettings(
  db: Kysely<unknown>,
  { key, number, byKey }: Ways,
): Promise<void> {
  const readByKey = <T extends string>(table: CreateTableBuilder<T>): CreateTableBuilder<T> =>
    byKey === undefined ? table : table.modifyEnd(byKey);
  const setting = db.schema
    .createTable("setting")
    .addColumn("key", key, (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .addColumn("type", "text", (c) => c.notNull())
    .addColumn("options", "text", (c) => c.notNull())
    .addColumn("help", "text", (c) => c.notNull())
    .addColumn("group_id", "integer", (c) => c.notNull())
    .addColumn("flag", "integer", (c) => c.notNull())
    .addColumn("origin", "text", (c) => c.notNull())
    .addColumn("position", "integer", (c) => c.notNull())
    .addColumn("revision", number, (c) => c.notNull());
  await readByKey(setting).execute();
  await db.schema
    .createTable("revision")
    .addColumn("revision", number, (c) => c.primaryKey())
    .addColumn("time", "bigint", (c) => c.notNull())
    .addColumn("actor", "text", (c) => c.notNull())
    .addColumn("door", "text", (c) => c.notNull())
    .addColumn("method", "text", (c) => c.notNull())
    .addColumn("request_id", "text", (c) => c.notNull())
    .addColumn("peer", "text", (c) => c.notNull())
    .addColumn("reason", "text", (c) => c.notNull())
    .execute();
  const change = db.schema
    .createTable("change")
    .addColumn("revision", "bigint", (c) => c.notNull())
    .addColumn("key", key, (c) => c.notNull())
    .addColumn("old_value", "text")
    .addColumn("new_value", "text")
    .addColumn("old_hash", "text")
    .addColumn("new_hash", "text")
    .addColumn("old_definition", "text")
    .addColumn("new_definition", "text")
    .addPrimaryKeyConstraint("change_pk", ["revision", "key"]);
  await readByKey(change).execute();
  await db.schema.createIndex("change_key").on("change").columns(["key", "revision"]).execute();
  await db.schema
    .createTable("meta")
    .addColumn("name", key, (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .execute();
}
