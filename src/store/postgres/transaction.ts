import { CompiledQuery, type Kysely, sql, type Transaction } from "kysely";
import { StoreError } from "../../database/error.ts";
import { TIMELINE } from "../../database/postgres/server.ts";
import {
  type ChangeRow,
  changeColumns,
  type Database,
  type RecordRow,
  type RevisionRow,
  recordColumns,
  revisionColumns,
} from "../../database/schema.ts";
import { MAX_COMMITS, readState } from "../../ledger/query.ts";
import {
  changeFromRow,
  changeToRow,
  recordFromRow,
  recordToRow,
  revisionFromRow,
  revisionToRow,
} from "../../ledger/row.ts";
import type {
  LedgerTransaction,
  RecordName,
  StoredDelta,
  StoredWrite,
} from "../../ledger/store.ts";
import { auditParameters, auditParts } from "./audit.ts";
import type { Follower } from "./follow.ts";

/** Signal to repeat the work under the lock. */
class NeedsLock extends Error {}

type Work<T> = (transaction: LedgerTransaction) => Promise<T>;

/** Serializes work. */
export type OneAfterTheOther = <T>(work: () => Promise<T>) => Promise<T>;

export function oneAfterTheOther(): OneAfterTheOther {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work, work);
    last = run;
    return run;
  };
}

/**
 * Creates the transaction of saves.
 *
 * A save usually starts from the newest revision, which this process has: it is decided without a
 * query, and written by one statement on condition that the revision is still the newest.
 * Otherwise, and if the work reads changes of other instances, it is repeated under the lock.
 *
 * Serialized: two transactions of one process would conflict.
 *
 * @param within time limit, in milliseconds.
 */
export function createTransact(db: Kysely<Database>, follower: Follower, within: number) {
  return <T>(work: Work<T>): Promise<T> => inTime(runOnce(db, follower, work), within);
}

interface Done<T> {
  readonly result: T;
  /** Newest revision afterwards. */
  readonly revision: number;
  readonly hasWritten: boolean;
  readonly hasReadAll: boolean;
}

async function runOnce<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<() => T> {
  const done = (await withoutLock(db, follower, work)) ?? (await withLock(db, follower, work));
  // Called only without a time-out; otherwise the result is unknown to the caller.
  return () => {
    if (done.hasReadAll) follower.sawAll(done.revision);
    else follower.saw(done.revision);
    if (done.hasWritten) follower.announce(done.revision);
    return done.result;
  };
}

async function inTime<T>(running: Promise<() => T>, within: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError("unsure", "the database did not answer in time"));
    }, within);
  });
  try {
    const finish = await Promise.race([running, late]);
    return finish();
  } finally {
    clearTimeout(timer);
    running.catch(() => undefined);
  }
}

/** @returns undefined if the work must be repeated under the lock. */
async function withoutLock<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<Done<T> | undefined> {
  const { known, timeline } = follower;
  if (known < 0 || timeline === undefined || follower.isReplaced) return undefined;
  const base = { revision: known, timeline };
  let written: StoredWrite | undefined;
  const lock = async (): Promise<never> => {
    throw new NeedsLock();
  };
  try {
    const result = await work({
      revision: async () => newestOf(written, known),
      delta: lock,
      load: lock,
      write: async (rows) => {
        if (written !== undefined) throw new NeedsLock();
        written = rows;
      },
    });
    const isNewest = await (written === undefined ? isHead(db, base) : write(db, written, base));
    if (!isNewest) return undefined;
    return {
      result,
      revision: newestOf(written, known),
      hasWritten: written !== undefined,
      hasReadAll: false,
    };
  } catch (error) {
    if (error instanceof NeedsLock) return undefined;
    throw error;
  }
}

function newestOf(rows: StoredWrite | undefined, base: number): number {
  return rows?.revisions.at(-1)?.revision ?? base;
}

/** Reports whether a decision to write nothing was made on the newest revision. */
async function isHead(db: Kysely<Database>, { revision, timeline }: WriteBase): Promise<boolean> {
  const { rows } = await sql`select from head
    where id = 1 and revision = ${revision} and ${sql.raw(TIMELINE)} = ${timeline}`.execute(db);
  return rows.length === 1;
}

async function write(
  db: Kysely<Database> | Transaction<Database>,
  rows: StoredWrite,
  base: WriteBase,
): Promise<boolean> {
  const { rows: moved } = await db.executeQuery(writeStatement(rows, base));
  return moved.length === 1;
}

async function withLock<T>(
  db: Kysely<Database>,
  follower: Follower,
  work: Work<T>,
): Promise<Done<T>> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ revision: number }>`select revision from head
      where id = 1 for update`.execute(trx);
    let revision = rows[0]?.revision ?? 0;
    let hasWritten = false;
    let hasReadAll = false;
    const timeline = await readTimeline(trx);
    if (timeline !== undefined) follower.on(timeline);
    const { isReplaced } = follower;
    const result = await work({
      // After a failover the same number may be another revision: -1 forces a full read.
      revision: async () => (isReplaced && !hasWritten ? -1 : revision),
      delta: async (after) => (isReplaced ? undefined : readDeltaAtOnce(trx, after)),
      load: () => {
        hasReadAll = true;
        return readState(trx);
      },
      write: async (written) => {
        const isNewest = await write(trx, written, { revision, timeline: undefined });
        if (!isNewest) throw new Error("the head changed while it was locked");
        revision = newestOf(written, revision);
        hasWritten = true;
      },
    });
    return { result, revision, hasWritten, hasReadAll };
  });
}

async function readTimeline(trx: Transaction<Database>): Promise<string | undefined> {
  const { rows } = await sql<{ timeline: string }>`select ${sql.raw(TIMELINE)} as timeline`.execute(
    trx,
  );
  return rows[0]?.timeline;
}

/** Precondition of a write. */
interface WriteBase {
  /** Newest revision known to the writer. */
  readonly revision: number;
  /** Timeline of the revision; undefined: the lock is held, which rules out a promotion. */
  readonly timeline: string | undefined;
}

/**
 * Statement that writes all rows of several saves. Returns one row, or none if another revision is the
 * newest, in which case nothing is written.
 */
export function writeStatement(rows: StoredWrite, base: WriteBase): CompiledQuery {
  const records = rows.upserts.map(recordToRow);
  const revisions = rows.revisions.map(revisionToRow);
  const changes = rows.revisions.flatMap(({ revision, changes }) =>
    changes.map((change) => changeToRow(revision, change)),
  );
  return CompiledQuery.raw(STATEMENT, [
    base.revision,
    base.timeline ?? null,
    rows.revisions.at(-1)?.revision ?? base.revision,
    rows.deletes.map(({ kind }) => kind),
    rows.deletes.map(({ key }) => key),
    ...columnsOf(recordColumns, records),
    ...columnsOf(revisionColumns, revisions),
    ...columnsOf(changeColumns, changes),
    ...auditParameters(rows.audit),
  ]);
}

/** An array for each column: the number of parameters does not depend on the number of rows. */
function columnsOf<Row extends object>(
  columns: Readonly<Record<keyof Row, string>>,
  rows: readonly Row[],
): unknown[][] {
  return (Object.keys(columns) as (keyof Row)[]).map((name) => rows.map((row) => row[name]));
}

const FIRST_ARRAY = 6;

const STATEMENT = makeStatement();

function makeStatement(): string {
  let next = FIRST_ARRAY;
  const rowsOf = (columns: Readonly<Record<string, string>>): string => {
    const names = Object.keys(columns).join(", ");
    const arrays = Object.values(columns).map((type) => `$${next++}::${type}[]`);
    return `(${names}) select x.* from moved, unnest(${arrays.join(", ")}) as x(${names})`;
  };
  const replaced = Object.keys(recordColumns)
    .filter((name) => name !== "kind" && name !== "key")
    .map((name) => `${name} = excluded.${name}`)
    .join(", ");
  return `with recursive moved as (
  update head set revision = $3::bigint
  where id = 1 and revision = $1::bigint and ($2::text is null or ${TIMELINE} = $2::text)
  returning revision
), upserted as (
  insert into record ${rowsOf(recordColumns)} on conflict (kind, key) do update set ${replaced}
), deleted as (
  delete from record using moved, unnest($4::text[], $5::text[]) as gone(kind, key)
  where record.kind = gone.kind and record.key = gone.key
), made as (
  insert into revision ${rowsOf(revisionColumns)}
), changed as (
  insert into change ${rowsOf(changeColumns)}
), ${auditParts(next, "moved")}
select revision from moved`;
}

/** Result row: content of the tables as JSON. */
interface Answer {
  readonly revision: number;
  readonly mark: string | null;
  readonly oldest: number;
  readonly changed: readonly RecordRow[];
  readonly deleted: readonly RecordName[];
  readonly revisions: readonly RevisionRow[] | null;
  readonly changes: readonly ChangeRow[] | null;
}

/**
 * Reads the commits after a revision in one statement: one snapshot and one round trip, because every
 * instance reads them after every save of another.
 */
export async function readDeltaAtOnce(
  db: Kysely<Database> | Transaction<Database>,
  after: number,
): Promise<StoredDelta | undefined> {
  const { rows } = await sql<Answer>`with ends as (
      select coalesce(max(revision), 0) as newest, coalesce(min(revision), 0) as oldest
      from revision
    ), touched as (
      select distinct kind, key from change where revision > ${after}
    )
    select newest as revision, oldest,
      (select mark from revision where revision = newest) as mark,
      (select coalesce(json_agg(r order by r.position, r.kind, r.key), '[]') from record as r
        where (r.kind, r.key) in (select kind, key from touched)) as changed,
      (select coalesce(json_agg(t), '[]') from touched as t
        where not exists (select from record as r where r.kind = t.kind and r.key = t.key))
        as deleted,
      case when newest - ${after} <= ${MAX_COMMITS} then
        (select coalesce(json_agg(r order by r.revision), '[]') from revision as r
          where r.revision > ${after}) end as revisions,
      case when newest - ${after} <= ${MAX_COMMITS} then
        (select coalesce(json_agg(c order by c.revision, c.kind, c.key), '[]') from change as c
          where c.revision > ${after}) end as changes
    from ends`.execute(db);
  const [answer] = rows;
  if (answer === undefined) return undefined;
  const { revision, oldest } = answer;
  if (revision < after || after + 1 < oldest) return undefined;
  return {
    revision,
    mark: answer.mark || undefined,
    changed: answer.changed.map(recordFromRow),
    deleted: answer.deleted,
    commits: commitsOf(answer),
  };
}

function commitsOf({ revisions, changes }: Answer): StoredDelta["commits"] {
  if (revisions === null) return undefined;
  const byRevision = Map.groupBy(changes ?? [], (change) => change.revision);
  return revisions.map((row) => ({
    ...revisionFromRow(row),
    changes: (byRevision.get(row.revision) ?? []).map(changeFromRow),
  }));
}
