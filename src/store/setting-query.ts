import type { Kysely, Transaction } from "kysely";
import { readCommits, readOldestRevision } from "./history-query.ts";
import { changeToRow, revisionToRow, settingFromRow, settingToRow } from "./row.ts";
import type { Database } from "./schema.ts";
import type { StoredDelta, StoredSetting, StoredState, StoredWrite } from "./setting-store.ts";

/** Rows of one statement: SQLite takes at most 32,766 parameters. */
const BATCH = 1_000;
/** Revisions that a delta carries with all their changes at most. */
const MAX_COMMITS = 1_000;

type Db = Kysely<Database> | Transaction<Database>;

export async function readRevision(db: Db): Promise<number> {
  const row = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.max("revision").as("revision"))
    .executeTakeFirst();
  return Number(row?.revision ?? 0);
}

export async function readState(db: Db): Promise<StoredState> {
  const rows = await db
    .selectFrom("setting")
    .selectAll()
    .orderBy("position")
    .orderBy("key")
    .execute();
  return { revision: await readRevision(db), settings: rows.map(settingFromRow) };
}

export async function readDelta(db: Db, after: number): Promise<StoredDelta | undefined> {
  const revision = await readRevision(db);
  if (revision < after) return undefined;
  if (after + 1 < (await readOldestRevision(db))) return undefined;
  const changed = await db
    .selectFrom("setting")
    .selectAll()
    .where("revision", ">", after)
    .orderBy("position")
    .execute();
  const deleted = await db
    .selectFrom("change")
    .select("key")
    .distinct()
    .where("revision", ">", after)
    .where("key", "not in", (eb) => eb.selectFrom("setting").select("setting.key"))
    .execute();
  return {
    revision,
    changed: changed.map(settingFromRow),
    deleted: deleted.map((row) => row.key),
    commits: revision - after > MAX_COMMITS ? undefined : await readCommits(db, after, revision),
  };
}

export async function writeRows(db: Db, rows: StoredWrite): Promise<void> {
  for (const batch of batches(rows.upserts))
    await db
      .insertInto("setting")
      .values(batch.map(settingToRow))
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
      )
      .execute();
  for (const batch of batches(rows.deletes))
    await db.deleteFrom("setting").where("key", "in", batch).execute();
  for (const batch of batches(rows.revisions))
    await db.insertInto("revision").values(batch.map(revisionToRow)).execute();
  const changes = rows.revisions.flatMap((revision) =>
    revision.changes.map((change) => changeToRow(revision.revision, change)),
  );
  for (const batch of batches(changes)) await db.insertInto("change").values(batch).execute();
}

function batches<T>(rows: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let start = 0; start < rows.length; start += BATCH)
    result.push(rows.slice(start, start + BATCH));
  return result;
}

/** Writes values as they are; the revision stays. What has another revision now is left alone. */
export async function rewriteValues(db: Db, settings: readonly StoredSetting[]): Promise<void> {
  for (const { key, value, revision } of settings)
    await db
      .updateTable("setting")
      .set({ value })
      .where("key", "=", key)
      .where("revision", "=", revision)
      .execute();
}
