import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { markRewrite } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { readCommits, readMark, readOldestRevision } from "./history-query.ts";
import { settingFromRow } from "./row.ts";
import type { Rewrite, StoredDelta, StoredRecord, StoredState } from "./store.ts";

/** Maximum number of revisions of a delta with all their changes. */
export const MAX_COMMITS = 1_000;

type Db = Kysely<Database> | Transaction<Database>;

/** Query for the newest revision; null when there is none. */
export function newestRevision(db: Db) {
  return db.selectFrom("revision").select((eb) => eb.fn.max("revision").as("revision"));
}

async function readRevision(db: Db): Promise<number> {
  const row = await newestRevision(db).executeTakeFirst();
  return row?.revision ?? 0;
}

export async function readState(db: Db): Promise<StoredState> {
  const rows = await db
    .selectFrom("setting")
    .selectAll()
    .orderBy("position")
    .orderBy("key")
    .execute();
  const revision = await readRevision(db);
  return {
    revision,
    mark: (await readMark(db, revision)) || undefined,
    records: rows.map(settingFromRow),
  };
}

export async function readDelta(db: Db, after: number): Promise<StoredDelta | undefined> {
  const revision = await readRevision(db);
  if (revision < after) return undefined;
  if (after + 1 < (await readOldestRevision(db))) return undefined;
  const changed = await db
    .selectFrom("setting")
    .selectAll()
    .where("key", "in", (eb) =>
      eb.selectFrom("change").select("change.key").where("change.revision", ">", after),
    )
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
    mark: (await readMark(db, revision)) || undefined,
    changed: changed.map(settingFromRow),
    deleted: deleted.map((row) => row.key),
    commits: revision - after > MAX_COMMITS ? undefined : await readCommits(db, after, revision),
  };
}

/** Writes the values of a change without conversion; the revision stays. */
export async function rewriteValues(
  trx: Transaction<Database>,
  change: (settings: readonly StoredRecord[]) => Rewrite,
  append: AppendAudit,
): Promise<StoredState> {
  const { records: settings, audit } = change((await readState(trx)).records);
  for (const { key, value } of settings)
    await trx.updateTable("setting").set({ value }).where("key", "=", key).execute();
  await markRewrite(trx);
  await append(trx, audit);
  return readState(trx);
}
