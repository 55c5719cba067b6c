import { type Kysely, sql, type Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { readMeta, setMeta } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import { principalFromRow, principalToRow, tokenFromRow, tokenToRow } from "./row.ts";
import type { AccessTransaction } from "./store.ts";

/**
 * Reads and writes of a change of access in its transaction.
 *
 * @param written called with the version of the rows.
 */
export function transactionOn(
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
export async function readForgotten(db: Kysely<Database> | Transaction<Database>): Promise<number> {
  return Number((await readMeta(db, FORGOTTEN)) ?? 0);
}
