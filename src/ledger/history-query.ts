import { setImmediate as nextTurn } from "node:timers/promises";
import type { Expression, Kysely, SelectQueryBuilder, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { markRewrite } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { createTicks } from "../ticks.ts";
import { changeFromRow, revisionFromRow } from "./row.ts";
import type {
  FirstChange,
  KeyAfter,
  Rehash,
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

/** Mark of a revision; undefined: the history does not have the revision. */
export async function readMark(db: Db, revision: number): Promise<string | undefined> {
  const row = await db
    .selectFrom("revision")
    .select("mark")
    .where("revision", "=", revision)
    .executeTakeFirst();
  return row?.mark;
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
    ...revisionFromRow({ ...row, mark: "" }),
    changes: (byRevision.get(row.revision) ?? []).map((change) => ({
      key: change.key,
      oldAttributes: change.old_definition,
      newAttributes: change.new_definition,
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
  const { newBody, newHash, newAttributes } = last;
  return { ...first, newBody, newHash, newAttributes };
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

/** Rows per query of {@link readFirstChanges}; more than the maximum number of keys. */
const PAGE = 10_000;

/** Returns those of the given keys that have changes in the history, in one query. */
export async function readKnownKeys(
  db: Db,
  keys: readonly string[],
  keysOf: KeysOf,
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await keysOf(db, keys).execute();
  return new Set(rows.map(({ key }) => key));
}

/**
 * First change of each key after its revision, up to `upTo`. The history is read once for all keys, in
 * pages with an event-loop tick between two; values are read for the found changes only. Keys without
 * such a change are absent.
 *
 * @param asked at most 1,000.
 */
export async function readFirstChanges(
  db: Db,
  asked: readonly KeyAfter[],
  upTo: number,
): Promise<readonly FirstChange[]> {
  const open = Map.groupBy(asked, ({ key }) => key);
  const found: { readonly asked: KeyAfter; readonly revision: number }[] = [];
  let from = asked.reduce((least, { after }) => Math.min(least, after), upTo) + 1;
  while (open.size > 0 && from <= upTo) {
    const rows = await db
      .selectFrom("change")
      .select(["revision", "key"])
      .where("revision", ">=", from)
      .where("revision", "<=", upTo)
      .where("key", "in", [...open.keys()])
      .orderBy("revision")
      .limit(PAGE)
      .execute();
    for (const { revision, key } of rows) {
      const waiting = open.get(key) ?? [];
      const left = waiting.filter(({ after }) => after >= revision);
      for (const one of waiting) if (one.after < revision) found.push({ asked: one, revision });
      if (left.length > 0) open.set(key, left);
      else open.delete(key);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    // The last revision may have more rows than this page has shown.
    from = last.revision;
    await nextTurn();
  }
  return withValues(db, found);
}

/**
 * Last revision by an actor that changed each key, after the key's revision and up to `upTo`. Keys
 * without one are absent.
 *
 * @param asked at most 1,000.
 * @param step as for readChangesBetween.
 */
export async function readLastChangesBy(
  db: Db,
  actor: string,
  asked: readonly KeyAfter[],
  upTo: number,
  step = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const keys = [...new Set(asked.map(({ key }) => key))];
  const first = asked.reduce((least, { after }) => Math.min(least, after), upTo);
  for (let start = first; start < upTo; start += step) {
    if (start > first) await nextTurn();
    const rows = await db
      .selectFrom("change")
      .innerJoin("revision", "revision.revision", "change.revision")
      .select("change.key")
      .select((eb) => eb.fn.max("change.revision").as("last"))
      .where("change.revision", ">", start)
      .where("change.revision", "<=", Math.min(start + step, upTo))
      .where("change.key", "in", keys)
      .where("revision.actor", "=", actor)
      .groupBy("change.key")
      .execute();
    for (const { key, last } of rows) found.set(key, Number(last));
  }
  const since = asked.filter(({ key, after }) => (found.get(key) ?? 0) > after);
  return new Map(since.map(({ key }) => [key, found.get(key) ?? 0]));
}

async function withValues(
  db: Db,
  found: readonly { readonly asked: KeyAfter; readonly revision: number }[],
): Promise<readonly FirstChange[]> {
  if (found.length === 0) return [];
  const rows = await db
    .selectFrom("change")
    .selectAll()
    .where("revision", "in", [...new Set(found.map(({ revision }) => revision))])
    .where("key", "in", [...new Set(found.map(({ asked }) => asked.key))])
    .execute();
  const changes = new Map(rows.map((row) => [`${row.revision} ${row.key}`, row]));
  return found.flatMap(({ asked, revision }) => {
    const row = changes.get(`${revision} ${asked.key}`);
    return row === undefined ? [] : [{ ...asked, change: changeFromRow(row) }];
  });
}

/** Number of rows of the history per query. */
const BATCH = 500;
/** A hash within the JSON of a site's state; none of its characters is escaped there. */
const HASH = /(?<=")hmac[12]:(?:[0-9a-f]{12}:(?:past:)?)?[A-Za-z0-9_-]{43}(?=")/g;

/** Reports whether hashes of another form than the wanted one exist. */
export async function hasOtherHashes(db: Db, { form }: Pick<Rehash, "form">): Promise<boolean> {
  if ((await otherChanges(db, form, 1)).length > 0) return true;
  const states = await db.selectFrom("site_state").select("state").execute();
  return states.some(({ state }) => hashesOf(state).some((hash) => !hash.startsWith(form)));
}

/**
 * Replaces hashes of other forms in the history and in the state of sites.
 *
 * @returns the number of replaced hashes.
 */
export async function rehashRows(
  trx: Transaction<Database>,
  { form, renew, audit }: Rehash,
  append: AppendAudit,
): Promise<number> {
  let count = 0;
  const replace = (hash: string): string => {
    if (hash.startsWith(form)) return hash;
    count += 1;
    return renew(hash);
  };
  for (let from = 0; ; ) {
    const rows = await otherChanges(trx, form, BATCH, from);
    for (const { revision, key, old_hash, new_hash } of rows)
      await trx
        .updateTable("change")
        .set({
          old_hash: old_hash === null ? null : replace(old_hash),
          new_hash: new_hash === null ? null : replace(new_hash),
        })
        .where("revision", "=", revision)
        .where("key", "=", key)
        .execute();
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) break;
    from = last.revision;
  }
  const states = await trx
    .selectFrom("site_state")
    .select(["site_id", "version", "state"])
    .orderBy("site_id")
    .execute();
  for (const { site_id, version, state } of states) {
    const next = state.replaceAll(HASH, replace);
    if (next === state) continue;
    // A new version, so that processes with the old state read it again before they write.
    await trx
      .updateTable("site_state")
      .set({ state: next, version: version + 1 })
      .where("site_id", "=", site_id)
      .execute();
  }
  if (count === 0) return 0;
  await markRewrite(trx);
  await append(trx, audit(count));
  return count;
}

/** Rows of the history with a hash of another form, from a revision on. */
function otherChanges(db: Db, form: string, limit: number, from = 0) {
  return db
    .selectFrom("change")
    .select(["revision", "key", "old_hash", "new_hash"])
    .where("revision", ">=", from)
    .where((eb) =>
      eb.or([eb("old_hash", "not like", `${form}%`), eb("new_hash", "not like", `${form}%`)]),
    )
    .orderBy("revision")
    .limit(limit)
    .execute();
}

function hashesOf(state: string): readonly string[] {
  return state.match(HASH) ?? [];
}
