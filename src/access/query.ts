import { type Kysely, sql, type Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { readMeta, setMeta } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { principalFromRow, tokenReader } from "./row.ts";
import type { AccessRows, AccessStore, StoredToken, TokenUse } from "./store.ts";
import { readForgotten, transactionOn } from "./transaction.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Observer of reads. */
export interface Reading {
  /** Whether known versions are invalid, so that all rows are read. */
  readonly isAnew: boolean;
  /** Called with the version of the rows. */
  readonly done: (version: number) => void;
}

export interface AccessQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Like attempt, for reads. Default: attempt. */
  readonly attemptRead?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly changedElsewhere: () => boolean;
  /** Called before rows are read. */
  readonly reading: () => Reading;
  /** Called after a commit. */
  readonly committed: (version: number) => void;
  readonly seenEverywhere: (version: number) => Promise<void>;
  readonly append: AppendAudit;
  /** Locks the head of the access tables, on dialects whose begin of a transaction does not. */
  readonly lock?: (trx: Transaction<Database>) => Promise<unknown>;
}

const NO_ROWS: AccessRows = { principals: [], tokens: [] };

/** Creates the access store for both dialects. */
export function createAccessStore(deps: AccessQueryDeps): AccessStore {
  const {
    db,
    attempt,
    attemptRead = attempt,
    check,
    changedElsewhere,
    reading,
    committed,
    seenEverywhere,
    append,
    lock,
  } = deps;
  return {
    changedElsewhere,
    seenEverywhere,
    news: (after) =>
      attemptRead(async () => {
        const { isAnew, done } = reading();
        const version = await versionOf(db);
        const isSame = version === after && !isAnew;
        // A delta does not include deletions: a reader that may hold deleted rows reads all rows.
        const isWhole = !isSame && (isAnew || version < after || after < (await readForgotten(db)));
        // Rows that are newer than the version are read again the next time.
        const rows = isSame ? NO_ROWS : await rowsAfter(db, isWhole ? 0 : after);
        done(version);
        return { version, isWhole, ...rows };
      }),
    transact: async (work) => {
      let version: number | undefined;
      const result = await attempt(() => {
        check?.();
        return db.transaction().execute(async (trx) => {
          // Before the first read: a decision on rows that another change replaces would undo it.
          await lock?.(trx);
          return work(
            transactionOn(trx, append, (written) => {
              version = written;
            }),
          );
        });
      });
      if (version !== undefined) committed(version);
      return result;
    },
    countEnded: (now, step) =>
      attempt(() => {
        check?.();
        return db.transaction().execute(async (trx) => {
          // As a change: both write rows of several tokens, in different orders.
          await lock?.(trx);
          const time = Number((await readMeta(trx, COUNTED)) ?? 0) + step;
          await setMeta(trx, COUNTED, String(time));
          await markEnded(trx, now, time);
          return time;
        });
      }),
    recordUses: (uses) =>
      attempt(async () => {
        if (uses.length === 0) return;
        check?.();
        await db.transaction().execute(async (trx) => {
          // In one order in all processes: PostgreSQL locks row after row.
          const inOrder = uses.toSorted((one, other) => (one.tokenId < other.tokenId ? -1 : 1));
          for (const { tokenId, time, peer } of inOrder)
            await trx
              .insertInto("token_use")
              .values({ token_id: tokenId, time, peer })
              .onConflict((conflict) => conflict.column("token_id").doUpdateSet({ time, peer }))
              .execute();
        });
      }),
    uses: (tokenIds) =>
      attempt(async () => {
        const uses: TokenUse[] = [];
        for (let at = 0; at < tokenIds.length; at += PAGE) {
          const rows = await db
            .selectFrom("token_use")
            .selectAll()
            .where("token_id", "in", tokenIds.slice(at, at + PAGE))
            .execute();
          for (const { token_id, time, peer } of rows) uses.push({ tokenId: token_id, time, peer });
        }
        return uses;
      }),
  };
}

async function versionOf(db: Db): Promise<number> {
  const row = await db
    .selectFrom("access_head")
    .select("version")
    .where("id", "=", 1)
    .executeTakeFirst();
  return row?.version ?? 0;
}

async function rowsAfter(db: Db, after: number): Promise<AccessRows> {
  const principals = await db
    .selectFrom("principal")
    .selectAll()
    .where("version", ">", after)
    .execute();
  return { principals: principals.map(principalFromRow), tokens: await tokensAfter(db, after) };
}

/** Counted running time of the service, in milliseconds. */
const COUNTED = "access_counted";

async function markEnded(trx: Transaction<Database>, now: number, time: number): Promise<void> {
  const never = Number.MAX_SAFE_INTEGER;
  const hasEnded = sql<boolean>`(revoked_at is not null
    or coalesce(expires_at, ${never}) <= ${now} or coalesce(not_after, ${never}) <= ${now}
    or principal_id in (select id from principal where disabled_at is not null))`;
  await trx
    .updateTable("access_token")
    .set({ ended_at: time })
    .where("ended_at", "is", null)
    .where(hasEnded)
    .execute();
  await trx
    .updateTable("access_token")
    .set({ ended_at: null })
    .where("ended_at", "is not", null)
    .where(sql<boolean>`not ${hasEnded}`)
    .execute();
}

/** Rows per query: rows take several times the memory of the objects made of them. */
const PAGE = 500;

async function tokensAfter(db: Db, after: number): Promise<StoredToken[]> {
  const tokens: StoredToken[] = [];
  const read = tokenReader();
  for (;;) {
    const rows = await db
      .selectFrom("access_token")
      .selectAll()
      .where("version", ">", after)
      .where("id", ">", tokens.at(-1)?.id ?? "")
      .orderBy("id")
      .limit(PAGE)
      .execute();
    for (const row of rows) tokens.push(read(row));
    if (rows.length < PAGE) return tokens;
  }
}
