import { type Kysely, sql, type Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { readMeta, setMeta } from "../database/meta-query.ts";
import type { AccessTokenRow, Database, PrincipalRow } from "../database/schema.ts";
import type {
  AccessRows,
  AccessStore,
  AccessTransaction,
  StoredPrincipal,
  StoredToken,
  TokenUse,
} from "./store.ts";

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
          for (let at = 0; at < inOrder.length; at += PAGE)
            await trx
              .insertInto("token_use")
              .values(
                inOrder
                  .slice(at, at + PAGE)
                  .map(({ tokenId, time, peer }) => ({ token_id: tokenId, time, peer })),
              )
              .onConflict((conflict) =>
                conflict.column("token_id").doUpdateSet(({ ref }) => ({
                  time: ref("excluded.time"),
                  peer: ref("excluded.peer"),
                })),
              )
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

/**
 * Reads and writes of a change of access in its transaction.
 *
 * @param written called with the version of the rows.
 */
function transactionOn(
  trx: Transaction<Database>,
  append: AppendAudit,
  written: (version: number) => void,
): AccessTransaction {
  const principalWhere = async (column: "id" | "name", value: string) => {
    const row = await trx
      .selectFrom("principal")
      .selectAll()
      .where(column, "=", value)
      .executeTakeFirst();
    return row && principalFromRow(row);
  };
  return {
    principalNamed: (name) => principalWhere("name", name),
    principal: (id) => principalWhere("id", id),
    token: async (id) => {
      const row = await trx
        .selectFrom("access_token")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row && tokenFromRow(row);
    },
    tokenCount: async () => {
      const { count } = await trx
        .selectFrom("access_token")
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .executeTakeFirstOrThrow();
      return count;
    },
    endedBefore: async (time, limit) => {
      const rows = await trx
        .selectFrom("access_token")
        .selectAll()
        .where("ended_at", "<=", time)
        .orderBy("ended_at")
        .limit(limit)
        .execute();
      return rows.map(tokenFromRow);
    },
    write: async ({ principals = [], tokens = [], forgotten = [], audit }) => {
      // The row stays locked until the commit, so that versions become visible in order.
      const { version } = await trx
        .insertInto("access_head")
        .values({ id: 1, version: 1 })
        .onConflict((conflict) =>
          conflict.column("id").doUpdateSet({ version: sql<number>`access_head.version + 1` }),
        )
        .returning("version")
        .executeTakeFirstOrThrow();
      for (const principal of principals) {
        const { id, ...row } = { ...principalToRow(principal), version };
        await trx
          .insertInto("principal")
          .values({ id, ...row })
          .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
          .execute();
      }
      for (const token of tokens) {
        const { id, ...row } = { ...tokenToRow(token), version };
        await trx
          .insertInto("access_token")
          .values({ id, ...row })
          .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
          .execute();
      }
      await forgetTokens(trx, forgotten, version);
      await append(trx, audit);
      written(version);
      return version;
    },
  };
}

/** Version of the last deletion of tokens. */
const FORGOTTEN = "access_forgotten";

async function forgetTokens(trx: Transaction<Database>, ids: readonly string[], version: number) {
  if (ids.length === 0) return;
  await trx.deleteFrom("access_token").where("id", "in", ids).execute();
  await trx.deleteFrom("token_use").where("token_id", "in", ids).execute();
  await setMeta(trx, FORGOTTEN, String(version));
}

/** Version of the last deletion of tokens; 0: none. */
async function readForgotten(db: Db): Promise<number> {
  return Number((await readMeta(db, FORGOTTEN)) ?? 0);
}

function principalFromRow(row: PrincipalRow): StoredPrincipal {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    createdAt: row.created_at,
    createdBy: row.created_by,
    disabledAt: row.disabled_at,
  };
}

function principalToRow(principal: StoredPrincipal): Omit<PrincipalRow, "version"> {
  const { id, name, kind, createdAt, createdBy, disabledAt } = principal;
  return { id, name, kind, created_at: createdAt, created_by: createdBy, disabled_at: disabledAt };
}

function tokenFromRow(row: AccessTokenRow): StoredToken {
  return tokenReader()(row);
}

/** Converts rows; equal texts and lists of many rows share one object. */
function tokenReader(): (row: AccessTokenRow) => StoredToken {
  const texts = new Map<string, string>();
  const lists = new Map<string, readonly string[]>();
  const once = <T>(kept: Map<string, T>, text: string, make: (text: string) => T): T => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = make(text);
    kept.set(text, made);
    return made;
  };
  const listOf = (json: string): readonly string[] => once(lists, json, JSON.parse);
  const textOf = (text: string): string => once(texts, text, (same) => same);
  return (row) => ({
    id: row.id,
    principalId: textOf(row.principal_id),
    hash: row.hash,
    scopes: listOf(row.scopes),
    limits: listOf(row.limits),
    comment: textOf(row.comment),
    createdAt: row.created_at,
    createdBy: textOf(row.created_by),
    expiresAt: row.expires_at,
    notAfter: row.not_after,
    replacedBy: row.replaced_by,
    revokedAt: row.revoked_at,
    revokedBy: row.revoked_by,
  });
}

function tokenToRow(token: StoredToken): Omit<AccessTokenRow, "version" | "ended_at"> {
  return {
    id: token.id,
    principal_id: token.principalId,
    hash: token.hash,
    scopes: JSON.stringify(token.scopes),
    limits: JSON.stringify(token.limits),
    comment: token.comment,
    created_at: token.createdAt,
    created_by: token.createdBy,
    expires_at: token.expiresAt,
    not_after: token.notAfter,
    replaced_by: token.replacedBy,
    revoked_at: token.revokedAt,
    revoked_by: token.revokedBy,
  };
}
