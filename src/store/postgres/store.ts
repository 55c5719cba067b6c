import { randomBytes } from "node:crypto";
import { Kysely, sql, type Transaction } from "kysely";
import { createAccessStore } from "../../access/query.ts";
import type { Notify } from "../../database/error.ts";
import { StoreError } from "../../database/error.ts";
import { lastRewrite, readFacts, unmarkRewrite } from "../../database/meta-query.ts";
import { isConnectionLost, postgresFailure } from "../../database/postgres/failure.ts";
import type { PostgresServer } from "../../database/postgres/server.ts";
import { FIRST_TIMELINE } from "../../database/postgres/server.ts";
import type { Database } from "../../database/schema.ts";
import {
  forgetRevisions,
  hasOtherHashes,
  type KeysOf,
  type RevisionsOf,
  rehashRows,
} from "../../ledger/history-query.ts";
import { readState, rewriteRecords } from "../../ledger/query.ts";
import { HASHED_STATES } from "../hashed-states.ts";
import { createStores, type Store } from "../stores.ts";
import { appendAudit } from "./audit.ts";
import { Follower } from "./follow.ts";
import { isOfDatabase, prepare } from "./migration.ts";
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
  const { place } = server;
  const db = new Kysely<Database>({ dialect: server.dialect });
  let isClosed = false;
  const failureOf = (error: unknown): unknown => {
    if (error instanceof StoreError) return error;
    if (isClosed)
      return new StoreError("failed", `the database ${place} is closed: this process is stopping`);
    return isOfDatabase(error) ? postgresFailure(error, place) : error;
  };
  /** Runs a query. Only reads are repeated after a broken connection. */
  const attempt = async <T>(work: () => Promise<T>, { again = false } = {}): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (again && !isClosed && isConnectionLost(error)) return attempt(work);
      throw failureOf(error);
    }
  };
  const reading = <T>(work: () => Promise<T>): Promise<T> => attempt(work, { again: true });
  /**
   * Reads state that calls depend on. A failure is `unsure`: other instances may still be able to change
   * it.
   */
  const current = async <T>(follower: Follower, work: () => Promise<T>): Promise<T> => {
    try {
      return await reading(async () => {
        await follower.ensureLease();
        return work();
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure === "away") throw error;
      throw new StoreError("unsure", error.message, error);
    }
  };
  /** Reads one state of the database, independent of concurrent commits. */
  const atOnce = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    reading(() =>
      db
        .transaction()
        .setIsolationLevel("repeatable read")
        .setAccessMode("read only")
        .execute(work),
    );

  try {
    await attempt(() => prepare(server, notify));
    const { databaseId, fingerprintKey } = await reading(() => readFacts(db));
    let onNews = (): void => undefined;
    const follower = new Follower({
      server,
      db,
      databaseId,
      instanceId: randomBytes(9).toString("base64url"),
      now,
      notify,
      onNews: () => onNews(),
    });
    await reading(() => follower.start());
    const transact = createTransact(db, follower, server.saveWithin);
    // Serialized: a load that overtakes a save would revert the copy in memory.
    const inTurn = oneAfterTheOther();

    return {
      ...createStores({
        db,
        attempt,
        read: reading,
        append: appendAudit,
        origin: databaseId,
        lockRows: (query) => query.forUpdate(),
        lock: (trx) => sql`select from audit_head where id = 1 for update`.execute(trx),
        revisionsOf: byIndex,
        keysOf,
        serverTime: (at) => follower.serverTime(at),
      }),
      get databaseId() {
        // The timeline is part of the id after a failover, because revisions may be reused.
        const { timeline = FIRST_TIMELINE } = follower;
        return timeline === FIRST_TIMELINE ? databaseId : `${databaseId}.${timeline}`;
      },
      fingerprintKey,
      access: createAccessStore({
        db,
        append: appendAudit,
        // The row exists only after the first change.
        lock: (trx) =>
          sql`insert into access_head (id, version) values (1, 0)
            on conflict (id) do update set version = access_head.version`.execute(trx),
        attempt,
        attemptRead: (work) => current(follower, work),
        changedElsewhere: () => {
          if (isClosed) throw failureOf(undefined);
          return follower.isAccessBehind;
        },
        reading: () => follower.readingAccess(),
        committed: (version) => follower.announceAccess(version),
        seenEverywhere: (version) => attempt(() => follower.accessSeenEverywhere(version)),
      }),
      changedElsewhere: () => {
        if (isClosed) throw failureOf(undefined);
        return follower.isBehind;
      },
      onNews: (listener) => {
        onNews = listener;
      },
      load: () =>
        inTurn(async () => {
          const state = await current(follower, () => atOnce(readState));
          follower.sawAll(state.revision);
          return state;
        }),
      delta: async (after) => {
        const delta = await current(follower, () => readDeltaAtOnce(db, after));
        if (delta === undefined || follower.isReplaced) return undefined;
        follower.saw(delta.revision);
        return delta;
      },
      transact: (work) => inTurn(() => attempt(() => transact(work))),
      awayFor: () => follower.awayFor,
      problem: () => undefined,
      note: () => (follower.isNotified ? undefined : "no notifications arrive; changes are polled"),
      seenEverywhere: (revision) => attempt(() => follower.seenEverywhere(revision)),
      rewrite: (change) =>
        attempt(() =>
          db.transaction().execute(async (trx) => {
            await sql`select from head where id = 1 for update`.execute(trx);
            return rewriteRecords(trx, change, appendAudit);
          }),
        ),
      rehash: async (rehash) => {
        if (!(await reading(() => hasOtherHashes(db, rehash, HASHED_STATES)))) return 0;
        return attempt(() =>
          db.transaction().execute(async (trx) => {
            await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
            await sql`select from head where id = 1 for update`.execute(trx);
            // Workers write states without locking the head.
            const states = sql.join(HASHED_STATES.map(({ table }) => sql.table(table)));
            await sql`lock table ${states} in share row exclusive mode`.execute(trx);
            return rehashRows(trx, rehash, { append: appendAudit, tables: HASHED_STATES });
          }),
        );
      },
      eraseReplaced: async () => {
        const rewrite = await reading(() => lastRewrite(db));
        if (rewrite === undefined) return undefined;
        // Rewrites the tables without replaced values and deletes the old files.
        const rewritten = ["record", "change", ...HASHED_STATES.map(({ table }) => table)];
        const tables = sql.join(rewritten.map((table) => sql.table(table)));
        await attempt(() => sql`vacuum full ${tables}`.execute(db));
        await attempt(() => unmarkRewrite(db, rewrite));
        notify(
          "warn",
          `the clear text of sealed secrets is gone from the tables of ${place}; its write-ahead log, standbys and backups may contain it for a while: replace important secrets`,
        );
        return undefined;
      },
      compact: (retention, step) =>
        attempt(() => db.transaction().execute((trx) => forgetRevisions(trx, retention, step))),
      close: async () => {
        if (isClosed) return;
        isClosed = true;
        await follower.close();
        await db.destroy();
      },
    };
  } catch (error) {
    isClosed = true;
    await db.destroy().catch(() => undefined);
    throw error;
  }
}
