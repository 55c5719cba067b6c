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
  RecordName,
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
    .orderBy("kind")
    .orderBy("key")
    .execute();
  const byRevision = Map.groupBy(changes, (change) => change.revision);
  return revisions.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(row.revision) ?? []).map(changeFromRow),
  }));
}

/** Query that returns the given keys of a kind that the history contains. */
export type KeysOf = (
  db: Db,
  kind: string,
  keys: readonly string[],
) => Pick<SelectQueryBuilder<Database, never, { readonly key: string }>, "execute">;

/** Query for the revisions that changed a record; dialects have different indexes. */
export type RevisionsOf = (db: Db, record: RecordName) => Expression<number>;

export async function readRevisions(
  db: Db,
  filter: RevisionFilter,
  revisionsOf: RevisionsOf,
): Promise<RevisionSummary[]> {
  const { before, record, actor, since, until, limit } = filter;
  let query = db.selectFrom("revision").selectAll();
  if (before !== undefined) query = query.where("revision", "<", before);
  if (actor !== undefined) query = query.where("actor", "=", actor);
  if (since !== undefined) query = query.where("time", ">=", since);
  if (until !== undefined) query = query.where("time", "<", until);
  if (record !== undefined) query = query.where("revision", "in", revisionsOf(db, record));
  const rows = await query.orderBy("revision", "desc").limit(limit).execute();
  if (rows.length === 0) return [];
  const changes = await db
    .selectFrom("change")
    .select(["revision", "kind", "key", "old_attributes", "new_attributes"])
    .where(
      "revision",
      "in",
      rows.map((row) => row.revision),
    )
    .orderBy("kind")
    .orderBy("key")
    .execute();
  const byRevision = Map.groupBy(changes, (row) => row.revision);
  return rows.map((row) => ({
    ...revisionFromRow({ ...row, mark: "" }),
    changes: (byRevision.get(row.revision) ?? []).map((change) => ({
      kind: change.kind,
      key: change.key,
      oldAttributes: change.old_attributes,
      newAttributes: change.new_attributes,
    })),
  }));
}

/** A range of the history. */
interface ChangeRange {
  readonly after: number;
  readonly upTo: number;
  /** Undefined: records of all kinds. */
  readonly kind?: string | undefined;
}

/**
 * One combined change for each record in the range, from its first and last change.
 *
 * @param step revisions per query: SQLite blocks the event loop during a query.
 */
export async function readChangesBetween(
  db: Db,
  { after, upTo, kind }: ChangeRange,
  step = Number.POSITIVE_INFINITY,
): Promise<StoredChange[]> {
  const ticks = createTicks();
  const found = new Map<string, StoredChange>();
  for (let start = after; start < upTo; start += step) {
    if (ticks.isDue()) await ticks.next();
    const range = { after: start, upTo: Math.min(start + step, upTo), kind };
    for (const change of await readChanges(db, range)) {
      const name = `${change.kind} ${change.key}`;
      const before = found.get(name);
      found.set(name, before === undefined ? change : joined(before, change));
    }
  }
  const names = [...found.keys()].sort((a, b) => (a < b ? -1 : 1));
  return names.flatMap((name) => found.get(name) ?? []);
}

function joined(first: StoredChange, last: StoredChange): StoredChange {
  const { newBody, newHashes, newAttributes } = last;
  return { ...first, newBody, newHashes, newAttributes };
}

async function readChanges(db: Db, { after, upTo, kind }: ChangeRange): Promise<StoredChange[]> {
  const ends = db
    .selectFrom("change")
    .select(["kind", "key"])
    .select((eb) => [eb.fn.min("revision").as("first"), eb.fn.max("revision").as("last")])
    .where("revision", ">", after)
    .where("revision", "<=", upTo)
    .$if(kind !== undefined, (some) => some.where("kind", "=", kind ?? ""))
    .groupBy(["kind", "key"]);
  const rows = await db
    .with("ends", () => ends)
    .selectFrom("ends")
    .innerJoin("change as a", (join) =>
      join
        .onRef("a.kind", "=", "ends.kind")
        .onRef("a.key", "=", "ends.key")
        .onRef("a.revision", "=", "ends.first"),
    )
    .innerJoin("change as b", (join) =>
      join
        .onRef("b.kind", "=", "ends.kind")
        .onRef("b.key", "=", "ends.key")
        .onRef("b.revision", "=", "ends.last"),
    )
    .select([
      "ends.kind as kind",
      "ends.key as key",
      "a.old_body",
      "a.old_hashes",
      "a.old_attributes",
      "b.new_body",
      "b.new_hashes",
      "b.new_attributes",
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

/** Returns those of the given keys of a kind that have changes in the history, in one query. */
export async function readKnownKeys(
  db: Db,
  kind: string,
  keys: readonly string[],
  keysOf: KeysOf,
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await keysOf(db, kind, keys).execute();
  return new Set(rows.map(({ key }) => key));
}

/**
 * First change of each key of a kind after its revision, up to `upTo`. The history is read once for all keys, in
 * pages with an event-loop tick between two; content is read for the found changes only. Keys without
 * such a change are absent.
 *
 * @param asked at most 1,000.
 */
export async function readFirstChanges(
  db: Db,
  kind: string,
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
      .where("kind", "=", kind)
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
  return withContent(db, kind, found);
}

/**
 * Last revision by an actor that changed each key of a kind, after the key's revision and up to `upTo`. Keys
 * without one are absent.
 *
 * @param asked at most 1,000.
 * @param step as for readChangesBetween.
 */
export async function readLastChangesBy(
  db: Db,
  kind: string,
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
      .where("change.kind", "=", kind)
      .where("change.key", "in", keys)
      .where("revision.actor", "=", actor)
      .groupBy("change.key")
      .execute();
    for (const { key, last } of rows) found.set(key, Number(last));
  }
  const since = asked.filter(({ key, after }) => (found.get(key) ?? 0) > after);
  return new Map(since.map(({ key }) => [key, found.get(key) ?? 0]));
}

async function withContent(
  db: Db,
  kind: string,
  found: readonly { readonly asked: KeyAfter; readonly revision: number }[],
): Promise<readonly FirstChange[]> {
  if (found.length === 0) return [];
  const rows = await db
    .selectFrom("change")
    .selectAll()
    .where("revision", "in", [...new Set(found.map(({ revision }) => revision))])
    .where("kind", "=", kind)
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
/** A hash within JSON; none of its characters is escaped there. */
const HASH = /(?<=")hmac[12]:(?:[0-9a-f]{12}:(?:past:)?)?[A-Za-z0-9_-]{43}(?=")/g;

/** A table outside the history whose states, in JSON, contain hashes of secrets. */
export interface HashedStates {
  /** Name of the table. */
  readonly table: keyof Database;
  read(db: Db): Promise<readonly { readonly state: string }[]>;
  /** Writes each state that the function changes. */
  replace(trx: Transaction<Database>, change: (state: string) => string): Promise<void>;
}

/** Reports whether hashes of another form than the wanted one exist. */
export async function hasOtherHashes(
  db: Db,
  { form }: Pick<Rehash, "form">,
  tables: readonly HashedStates[],
): Promise<boolean> {
  if ((await otherChanges(db, form, 1)).length > 0) return true;
  for (const table of tables)
    for (const { state } of await table.read(db))
      if (hashesOf(state).some((hash) => !hash.startsWith(form))) return true;
  return false;
}

/**
 * Replaces hashes of other forms in the history and in the given states.
 *
 * @returns the number of replaced hashes.
 */
export async function rehashRows(
  trx: Transaction<Database>,
  { form, renew, audit }: Rehash,
  { append, tables }: { readonly append: AppendAudit; readonly tables: readonly HashedStates[] },
): Promise<number> {
  let count = 0;
  const replace = (hash: string): string => {
    if (hash.startsWith(form)) return hash;
    count += 1;
    return renew(hash);
  };
  for (let from = 0; ; ) {
    const rows = await otherChanges(trx, form, BATCH, from);
    for (const { revision, kind, key, old_hashes, new_hashes } of rows)
      await trx
        .updateTable("change")
        .set({
          old_hashes: old_hashes?.replaceAll(HASH, replace) ?? null,
          new_hashes: new_hashes?.replaceAll(HASH, replace) ?? null,
        })
        .where("revision", "=", revision)
        .where("kind", "=", kind)
        .where("key", "=", key)
        .execute();
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) break;
    from = last.revision;
  }
  for (const table of tables) await table.replace(trx, (state) => state.replaceAll(HASH, replace));
  if (count === 0) return 0;
  await markRewrite(trx);
  await append(trx, audit(count));
  return count;
}

/** Rows of the history with a hash of another form, from a revision on. */
function otherChanges(db: Db, form: string, limit: number, from = 0) {
  // A row has hashes of one form only: they are made or replaced together.
  const other = `%":"${form}%`;
  return db
    .selectFrom("change")
    .select(["revision", "kind", "key", "old_hashes", "new_hashes"])
    .where("revision", ">=", from)
    .where((eb) =>
      eb.or([eb("old_hashes", "not like", other), eb("new_hashes", "not like", other)]),
    )
    .orderBy("revision")
    .limit(limit)
    .execute();
}

function hashesOf(state: string): readonly string[] {
  return state.match(HASH) ?? [];
}
