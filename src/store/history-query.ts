import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { SEGMENT } from "./migration.ts";
import { changeFromRow, revisionFromRow } from "./row.ts";
import type { Database } from "./schema.ts";
import type {
  Retention,
  RevisionCommit,
  RevisionFilter,
  RevisionSummary,
  StoredChange,
} from "./setting-store.ts";

type Db = Kysely<Database> | Transaction<Database>;

export async function readOldestRevision(db: Db): Promise<number> {
  const row = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.min("revision").as("revision"))
    .executeTakeFirst();
  return Number(row?.revision ?? 0);
}

export async function readCommits(
  db: Db,
  after: number,
  upTo: number,
  limit = upTo - after,
): Promise<RevisionCommit[]> {
  const revisions = await db
    .selectFrom("revision")
    .selectAll()
    .where("revision", ">", after)
    .where("revision", "<=", upTo)
    .orderBy("revision")
    .limit(limit)
    .execute();
  const last = revisions.at(-1);
  if (last === undefined) return [];
  const changes = await db
    .selectFrom("change")
    .selectAll()
    .where("revision", ">", after)
    .where("revision", "<=", last.revision)
    .orderBy("revision")
    .orderBy("key")
    .execute();
  const byRevision = Map.groupBy(changes, (change) => Number(change.revision));
  return revisions.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(Number(row.revision)) ?? []).map(changeFromRow),
  }));
}

export async function readRevisions(db: Db, filter: RevisionFilter): Promise<RevisionSummary[]> {
  const { before, key, actor, since, until, limit } = filter;
  let query = db.selectFrom("revision").selectAll();
  if (before !== undefined) query = query.where("revision", "<", before);
  if (actor !== undefined) query = query.where("actor", "=", actor);
  if (since !== undefined) query = query.where("time", ">=", since);
  if (until !== undefined) query = query.where("time", "<", until);
  if (key !== undefined) query = query.where("revision", "in", revisionsOf(db, key));
  const rows = await query.orderBy("revision", "desc").limit(limit).execute();
  if (rows.length === 0) return [];
  const keys = await db
    .selectFrom("change")
    .select(["revision", "key"])
    .where(
      "revision",
      "in",
      rows.map((row) => row.revision),
    )
    .orderBy("key")
    .execute();
  const byRevision = Map.groupBy(keys, (row) => Number(row.revision));
  return rows.map((row) => ({
    ...revisionFromRow(row),
    keys: (byRevision.get(Number(row.revision)) ?? []).map((change) => change.key),
  }));
}

/** The revisions that changed a key: one look into the index for each segment of the history. */
function revisionsOf(db: Db, key: string) {
  const segmentOf = (revision: RawBuilder<unknown>) =>
    sql<number>`${revision} / ${sql.lit(SEGMENT)}`;
  const ends = db
    .selectFrom("revision as newest")
    .select(segmentOf(sql`max(newest.revision)`).as("number"))
    .select((eb) =>
      eb
        .selectFrom("revision as oldest")
        .select(segmentOf(sql`min(oldest.revision)`).as("number"))
        .as("last"),
    );
  return (
    db
      .withRecursive("segment(number, last)", (cte) =>
        ends.unionAll(
          cte
            .selectFrom("segment")
            .select((eb) => [eb("number", "-", 1).as("number"), "last"])
            .whereRef("number", ">", "last"),
        ),
      )
      // SQLite keeps the order of a cross join: the segments first, then the key in each of them.
      .selectFrom("segment")
      .crossJoin("change")
      .select("change.revision")
      .where((eb) => eb(segmentOf(sql.ref("change.revision")), "=", eb.ref("segment.number")))
      .where("change.key", "=", key)
  );
}

/** The first and the last change of each key in the range, put together. */
export async function readChangesBetween(
  db: Db,
  after: number,
  upTo: number,
): Promise<StoredChange[]> {
  const ends = db
    .selectFrom("change")
    .select("key")
    .select((eb) => [eb.fn.min("revision").as("first"), eb.fn.max("revision").as("last")])
    .where("revision", ">", after)
    .where("revision", "<=", upTo)
    .groupBy("key");
  const rows = await db
    .with("ends", () => ends)
    .selectFrom("ends")
    .innerJoin("change as a", (join) =>
      join.onRef("a.key", "=", "ends.key").onRef("a.revision", "=", "ends.first"),
    )
    .innerJoin("change as b", (join) =>
      join.onRef("b.key", "=", "ends.key").onRef("b.revision", "=", "ends.last"),
    )
    .select([
      "ends.key as key",
      "a.old_value",
      "a.old_hash",
      "a.old_definition",
      "b.new_value",
      "b.new_hash",
      "b.new_definition",
    ])
    .orderBy("ends.key")
    .execute();
  return rows.map((row) => changeFromRow({ ...row, revision: 0 }));
}

export async function forgetRevisions(
  db: Db,
  { count, notBefore }: Retention,
  step: number,
): Promise<number> {
  const newest = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.max("revision").as("revision"))
    .executeTakeFirst();
  const last = Number(newest?.revision ?? 0);
  const oldest = await db
    .selectFrom("revision")
    .select(["revision", "time"])
    .where("revision", "<", last)
    .orderBy("revision")
    .limit(step)
    .execute();
  const isKept = oldest.findIndex(
    ({ revision, time }) => Number(revision) > last - count && Number(time) >= notBefore,
  );
  const doomed = isKept < 0 ? oldest : oldest.slice(0, isKept);
  const end = doomed.at(-1)?.revision;
  if (end === undefined) return 0;
  // Always a range from the oldest on: a history with holes could not be watched.
  await db.deleteFrom("change").where("revision", "<=", end).execute();
  await db.deleteFrom("revision").where("revision", "<=", end).execute();
  return doomed.length;
}
