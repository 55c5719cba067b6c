import { type Kysely, sql } from "kysely";
import type { Notify } from "../../database/error.ts";
import { lastRewrite, unmarkRewrite } from "../../database/meta-query.ts";
import type { Database } from "../../database/schema.ts";
import { hasOtherHashes, rehashRows } from "../../ledger/history-query.ts";
import { rewriteRecords } from "../../ledger/query.ts";
import { HASHED_STATES } from "../hashed-states.ts";
import type { Store } from "../stores.ts";
import type { Attempts } from "./attempt.ts";
import { appendAudit } from "./audit.ts";

export interface RewriteDeps {
  readonly db: Kysely<Database>;
  readonly queries: Attempts;
  /** The database, for messages. */
  readonly place: string;
  readonly notify: Notify;
}

/** Changes of stored values when secrets are sealed, or sealed with another key. */
export function createRewrites({
  db,
  queries,
  place,
  notify,
}: RewriteDeps): Pick<Store, "rewrite" | "rehash" | "eraseReplaced"> {
  const { attempt, read } = queries;
  return {
    rewrite: (change) =>
      attempt(() =>
        db.transaction().execute(async (trx) => {
          await sql`select from head where id = 1 for update`.execute(trx);
          return rewriteRecords(trx, change, appendAudit);
        }),
      ),
    rehash: async (rehash) => {
      if (!(await read(() => hasOtherHashes(db, rehash, HASHED_STATES)))) return 0;
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
      const rewrite = await read(() => lastRewrite(db));
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
  };
}
