import type { Expression, Kysely, SelectQueryBuilder, Transaction } from "kysely";
import type { Database } from "../database/schema.ts";
import { createTicks } from "../ticks.ts";
import { changeFromRow, revisionFromRow } from "./row.ts";
import type {
  Retention,
  RevisionCommit,
  RevisionFilter,
  RevisionSummary,
  StoredChange,
} from "./store.ts";

type Db = Kysely<Database> | Transaction<Database>;

export async function readOldestRevision(db: Db): Promise<number> {
  const row = await db
    .selectFrom("revision")
    .select((eb) => eb.fn.min("revision").as("revision"))
    .executeTakeFirst();
  return row?.revision ?? 0;
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
  const byRevision = Map.groupBy(changes, (change) => change.revision);
  return revisions.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(row.revision) ?? []).map(changeFromRow),
  }));
}

/** Query for those of the given keys that occur in the history. */
export type KeysOf = (
  db: Db,
  keys: readonly string[],
) => Pick<SelectQueryBuilder<Database, never, { readonly key: string }>, "execute">;

/** Query for the revisions that changed a key; dialects have different indexes. */
export type RevisionsOf = (db: Db, key: string) => Expression<number>;

export async function readRevisions(
  db: Db,
  filter: RevisionFilter,
  revisionsOf: RevisionsOf,
): Promise<RevisionSummary[]> {
  const { before, key, actor, since, until, limit } = filter;
  let query = db.selectFrom("revision").selectAll();
  if (before !== undefined) query = query.where("revision", "<", before);
  if (actor !== undefined) query = query.where("actor", "=", actor);
  if (since !== undefined) query = query.where("time", ">=", since);
  if (until !== undefined) query = query.where("time", "<", until);
  if (key !== undefined) query = query.where("revision", "in", revisionsOf(db, key));
  const rows = await query.orderBy("revision", "desc").limit(limit).execute();
  if (rows.length === 0) return [];
  const changes = await db
    .selectFrom("change")
    .select(["revision", "key", "old_definition", "new_definition"])
    .where(
      "revision",
      "in",
      rows.map((row) => row.revision),
    )
    .orderBy("key")
    .execute();
  const byRevision = Map.groupBy(changes, (row) => row.revision);
  return rows.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(row.revision) ?? []).map((change) => ({
      key: change.key,
      oldDefinition: change.old_definition,
      newDefinition: change.new_definition,
    })),
  }));
}

/** A range of the history. */
interface ChangeRange {
  readonly after: number;
  readonly upTo: number;
  /** Beginning of the keys; empty: all. */
  readonly prefix: string;
}

/**
 * One combined change for each key in the range, from its first and last change.
 *
 * @param step revisions per query: SQLite blocks the event loop during a query.
 */
export async function readChangesBetween(
  db: Db,
  { after, upTo, prefix }: ChangeRange,
  step = Number.POSITIVE_INFINITY,
): Promise<StoredChange[]> {
  const ticks = createTicks();
  const found = new Map<string, StoredChange>();
  for (let start = after; start < upTo; start += step) {
    if (ticks.isDue()) await ticks.next();
    const range = { after: start, upTo: Math.min(start + step, upTo), prefix };
    for (const change of await readChanges(db, range)) {
      const before = found.get(change.key);
      found.set(change.key, before === undefined ? change : joined(before, change));
    }
  }
  return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function joined(first: StoredChange, last: StoredChange): StoredChange {
  const { newValue, newHash, newDefinition } = last;
  return { ...first, newValue, newHash, newDefinition };
}

async function readChanges(db: Db, { after, upTo, prefix }: ChangeRange): Promise<StoredChange[]> {
  const ends = db
    .selectFrom("change")
    .select("key")
    .select((eb) => [eb.fn.min("revision").as("first"), eb.fn.max("revision").as("last")])
    .where("revision", ">", after)
    .where("revision", "<=", upTo)
    .$if(prefix !== "", (some) => some.where("key", "like", `${prefix}%`))
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
  const last = newest?.revision ?? 0;
  const oldest = await db
    .selectFrom("revision")
    .select(["revision", "time"])
    .where("revision", "<", last)
    .orderBy("revision")
    .limit(step)
    .execute();
  const isKept = oldest.findIndex(
    ({ revision, time }) => revision > last - count && time >= notBefore,
  );
  const doomed = isKept < 0 ? oldest : oldest.slice(0, isKept);
  const end = doomed.at(-1)?.revision;
  if (end === undefined) return 0;
  // Deletes a range from the oldest revision on: watchers need a history without gaps.
  await db.deleteFrom("change").where("revision", "<=", end).execute();
  await db.deleteFrom("revision").where("revision", "<=", end).execute();
  return doomed.length;
}
