import { type Kysely, sql, type Transaction } from "kysely";
import {
  principalFromRow,
  principalToRow,
  tokenFromRow,
  tokenReader,
  tokenToRow,
} from "./access-row.ts";
import type { AccessRows, AccessStore, AccessTransaction, StoredToken } from "./access-store.ts";
import type { AppendAudit } from "./audit-query.ts";
import type { Database } from "./schema.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** How rows are read. */
export interface Reading {
  /** Versions of before mean nothing: all rows are to be read. */
  readonly isAnew: boolean;
  /** Told which version they were. */
  readonly done: (version: number) => void;
}

export interface AccessQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query; it may be run again, and rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Likewise, of what only reads. Default: attempt. */
  readonly attemptRead?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when nothing may be written. */
  readonly check?: () => void;
  readonly changedElsewhere: () => boolean;
  readonly changedAtLastLook: () => boolean;
  /** Told before rows are read. */
  readonly reading: () => Reading;
  /** Told after a commit. */
  readonly committed: (version: number) => void;
  readonly seenEverywhere: (version: number) => Promise<void>;
  readonly append: AppendAudit;
}

const NO_ROWS: AccessRows = { principals: [], tokens: [] };

/** The store of access on a database of either kind. */
export function createAccessStore(deps: AccessQueryDeps): AccessStore {
  const {
    db,
    attempt,
    attemptRead = attempt,
    check,
    changedElsewhere,
    changedAtLastLook,
    reading,
    committed,
    seenEverywhere,
    append,
  } = deps;
  return {
    changedElsewhere,
    changedAtLastLook,
    seenEverywhere,
    news: (after) =>
      attemptRead(async () => {
        const { isAnew, done } = reading();
        const version = await versionOf(db);
        const isWhole = isAnew || version < after;
        const isSame = version === after && !isWhole;
        // Rows of a later version come again the next time.
        const rows = isSame ? NO_ROWS : await rowsAfter(db, isWhole ? 0 : after);
        done(version);
        return { version, isWhole, ...rows };
      }),
    transact: async (work) => {
      let version: number | undefined;
      const result = await attempt(() => {
        check?.();
        return db.transaction().execute((trx) =>
          work(
            transactionOn(trx, append, (written) => {
              version = written;
            }),
          ),
        );
      });
      if (version !== undefined) committed(version);
      return result;
    },
    recordUses: (uses) =>
      attempt(async () => {
        if (uses.length === 0) return;
        check?.();
        await db.transaction().execute(async (trx) => {
          for (const { tokenId, time, peer } of uses)
            await trx
              .insertInto("token_use")
              .values({ token_id: tokenId, time, peer })
              .onConflict((conflict) => conflict.column("token_id").doUpdateSet({ time, peer }))
              .execute();
        });
      }),
    uses: () =>
      attempt(async () => {
        const rows = await db.selectFrom("token_use").selectAll().execute();
        return rows.map(({ token_id, time, peer }) => ({
          tokenId: token_id,
          time: Number(time),
          peer,
        }));
      }),
  };
}

async function versionOf(db: Db): Promise<number> {
  const row = await db
    .selectFrom("access_head")
    .select("version")
    .where("id", "=", 1)
    .executeTakeFirst();
  return Number(row?.version ?? 0);
}

async function rowsAfter(db: Db, after: number): Promise<AccessRows> {
  const principals = await db
    .selectFrom("principal")
    .selectAll()
    .where("version", ">", after)
    .execute();
  return { principals: principals.map(principalFromRow), tokens: await tokensAfter(db, after) };
}

/** Rows of one query: all of them at once would take a multiple of what is kept of them. */
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
      const row = await trx
        .selectFrom("access_token")
        .select((eb) => eb.fn.countAll().as("count"))
        .executeTakeFirst();
      return Number(row?.count ?? 0);
    },
    write: async ({ principals = [], tokens = [], audit }) => {
      // Its row is locked until the commit: versions become visible in their order.
      const head = await trx
        .insertInto("access_head")
        .values({ id: 1, version: 1 })
        .onConflict((conflict) =>
          conflict.column("id").doUpdateSet({ version: sql<number>`access_head.version + 1` }),
        )
        .returning("version")
        .executeTakeFirstOrThrow();
      const version = Number(head.version);
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
      await append(trx, audit);
      written(version);
      return version;
    },
  };
}
