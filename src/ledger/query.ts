import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { markRewrite } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { readCommits, readMark, readOldestRevision } from "./history-query.ts";
import { recordFromRow, recordToRow } from "./row.ts";
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

/** Records in the order of their positions. */
export async function readState(db: Db): Promise<StoredState> {
  const rows = await db
    .selectFrom("record")
    .selectAll()
    .orderBy("position")
    .orderBy("kind")
    .orderBy("key")
    .execute();
  const revision = await readRevision(db);
  return {
    revision,
    mark: (await readMark(db, revision)) || undefined,
    records: rows.map(recordFromRow),
  };
}

export async function readDelta(db: Db, after: number): Promise<StoredDelta | undefined> {
  const revision = await readRevision(db);
  if (revision < after) return undefined;
  if (after + 1 < (await readOldestRevision(db))) return undefined;
  const touched = db
    .selectFrom("change")
    .select(["kind", "key"])
    .distinct()
    .where("revision", ">", after);
  const changed = await db
    .with("touched", () => touched)
    .selectFrom("touched")
    .innerJoin("record", (join) =>
      join.onRef("record.kind", "=", "touched.kind").onRef("record.key", "=", "touched.key"),
    )
    .selectAll("record")
    .orderBy("record.position")
    .execute();
  const deleted = await db
    .with("touched", () => touched)
    .selectFrom("touched")
    .leftJoin("record", (join) =>
      join.onRef("record.kind", "=", "touched.kind").onRef("record.key", "=", "touched.key"),
    )
    .select(["touched.kind", "touched.key"])
    .where("record.key", "is", null)
    .execute();
  return {
    revision,
    mark: (await readMark(db, revision)) || undefined,
    changed: changed.map(recordFromRow),
    deleted,
    commits: revision - after > MAX_COMMITS ? undefined : await readCommits(db, after, revision),
  };
}

/** Replaces the content of records without a new revision. */
export async function rewriteRecords(
  trx: Transaction<Database>,
  change: (records: readonly StoredRecord[]) => Rewrite,
  append: AppendAudit,
): Promise<StoredState> {
  const { records, audit } = change((await readState(trx)).records);
  for (const record of records) {
    const { kind, key, body, attributes, secrets } = recordToRow(record);
    await trx
      .updateTable("record")
      .set({ body, attributes, secrets })
      .where("kind", "=", kind)
      .where("key", "=", key)
      .execute();
  }
  await markRewrite(trx);
  await append(trx, audit);
  return readState(trx);
}
