import { randomBytes } from "node:crypto";
import { Kysely, sql } from "kysely";
import { createAccessStore } from "../../access/query.ts";
import type { AccessStore } from "../../access/store.ts";
import { type Notify, StoreError } from "../../database/error.ts";
import { readFacts } from "../../database/meta-query.ts";
import { FIRST_TIMELINE, type PostgresServer } from "../../database/postgres/server.ts";
import type { Database } from "../../database/schema.ts";
import { forgetRevisions, type KeysOf, type RevisionsOf } from "../../ledger/history-query.ts";
import { readState } from "../../ledger/query.ts";
import { createStores, type Store } from "../stores.ts";
import { Attempts } from "./attempt.ts";
import { appendAudit } from "./audit.ts";
import { Follower } from "./follow.ts";
import { prepare } from "./migration.ts";
import { createRewrites } from "./rewrite.ts";
import { createTransact, oneAfterTheOther, readDeltaAtOnce } from "./transaction.ts";

export interface PostgresOptions {
  /** Default: no notices. */
  readonly notify?: Notify;
  /** This machine's clock, in milliseconds since 1970 UTC. Default: Date.now. */
  readonly now?: () => number;
}

const byIndex: RevisionsOf = (db, { kind, key }) =>
  db
    .selectFrom("change")
    .select("change.revision")
    .where("change.kind", "=", kind)
    .where("change.key", "=", key)
    .$asScalar();

const keysOf: KeysOf = (db, kind, keys) =>
  db
    .selectFrom("change")
    .select("key")
    .distinct()
    .where("kind", "=", kind)
    .where("key", "in", [...keys]);

/**
 * Opens the store on a PostgreSQL server and brings its schema up to date.
 *
 * @throws StoreError when the database cannot be used or is newer than this program.
 */
export async function openPostgresStore(
  server: PostgresServer,
  { notify = () => undefined, now = Date.now }: PostgresOptions = {},
): Promise<Store> {
  const db = new Kysely<Database>({ dialect: server.dialect });
  const queries = new Attempts(db, server.place);
  try {
    await queries.attempt(() => prepare(server, notify));
    const facts = await queries.read(() => readFacts(db));
    let onNews = (): void => undefined;
    const follower = new Follower({
      server,
      db,
      databaseId: facts.databaseId,
      instanceId: randomBytes(9).toString("base64url"),
      now,
      notify,
      onNews: () => onNews(),
    });
    await queries.read(() => follower.start());
    return createStore({
      server,
      db,
      queries,
      follower,
      facts,
      notify,
      setOnNews: (listener) => {
        onNews = listener;
      },
    });
  } catch (error) {
    queries.isClosed = true;
    await db.destroy().catch(() => undefined);
    throw error;
  }
}

interface StoreParts {
  readonly server: PostgresServer;
  readonly db: Kysely<Database>;
  readonly queries: Attempts;
  readonly follower: Follower;
  readonly facts: Awaited<ReturnType<typeof readFacts>>;
  readonly notify: Notify;
  readonly setOnNews: (listener: () => void) => void;
}

function createStore({
  server,
  db,
  queries,
  follower,
  facts,
  notify,
  setOnNews,
}: StoreParts): Store {
  const { attempt } = queries;
  const current: Current = (work) => readCurrent(queries, follower, work);
  const transact = createTransact(db, follower, server.saveWithin);
  // Serialized: a load that overtakes a save would revert the copy in memory.
  const inTurn = oneAfterTheOther();
  return {
    ...createStores({
      db,
      attempt,
      read: queries.read,
      append: appendAudit,
      origin: facts.databaseId,
      lockRows: (query) => query.forUpdate(),
      lock: (trx) => sql`select from audit_head where id = 1 for update`.execute(trx),
      revisionsOf: byIndex,
      keysOf,
      serverTime: (at) => follower.serverTime(at),
    }),
    ...createRewrites({ db, queries, place: server.place, notify }),
    get databaseId() {
      // The timeline is part of the id after a failover, because revisions may be reused.
      const { timeline = FIRST_TIMELINE } = follower;
      return timeline === FIRST_TIMELINE ? facts.databaseId : `${facts.databaseId}.${timeline}`;
    },
    fingerprintKey: facts.fingerprintKey,
    access: accessStore(db, queries, follower, current),
    changedElsewhere: () => {
      queries.checkOpen();
      return follower.isBehind;
    },
    onNews: setOnNews,
    load: () =>
      inTurn(async () => {
        const state = await current(() => queries.readAtOnce(readState));
        follower.sawAll(state.revision);
        return state;
      }),
    delta: async (after) => {
      const delta = await current(() => readDeltaAtOnce(db, after));
      if (delta === undefined || follower.isReplaced) return undefined;
      follower.saw(delta.revision);
      return delta;
    },
    transact: (work) => inTurn(() => attempt(() => transact(work))),
    awayFor: () => follower.awayFor,
    problem: () => undefined,
    note: () => (follower.isNotified ? undefined : "no notifications arrive; changes are polled"),
    seenEverywhere: (revision) => attempt(() => follower.seenEverywhere(revision)),
    compact: (retention, step) =>
      attempt(() => db.transaction().execute((trx) => forgetRevisions(trx, retention, step))),
    close: async () => {
      if (queries.isClosed) return;
      queries.isClosed = true;
      await follower.close();
      await db.destroy();
    },
  };
}

type Current = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Reads state that calls depend on. A failure is `unsure`: other instances may still be able to change
 * it.
 */
async function readCurrent<T>(
  queries: Attempts,
  follower: Follower,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await queries.read(async () => {
      await follower.ensureLease();
      return work();
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure === "away") throw error;
    throw new StoreError("unsure", error.message, error);
  }
}

function accessStore(
  db: Kysely<Database>,
  queries: Attempts,
  follower: Follower,
  current: Current,
): AccessStore {
  return createAccessStore({
    db,
    append: appendAudit,
    // The row exists only after the first change.
    lock: (trx) =>
      sql`insert into access_head (id, version) values (1, 0)
        on conflict (id) do update set version = access_head.version`.execute(trx),
    attempt: queries.attempt,
    attemptRead: current,
    changedElsewhere: () => {
      queries.checkOpen();
      return follower.isAccessBehind;
    },
    reading: () => follower.readingAccess(),
    committed: (version) => follower.announceAccess(version),
    seenEverywhere: (version) => queries.attempt(() => follower.accessSeenEverywhere(version)),
  });
}
