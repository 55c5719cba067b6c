import type { Kysely } from "kysely";
import type { LockRows } from "../database/row-lock.ts";
import type { Database } from "../database/schema.ts";
import type { HashedStates } from "../ledger/history-query.ts";
import { REQUEST, type RecordStateStore } from "./record-registry.ts";

/** Number of states that one statement writes: statements one by one take ten times as long. */
const ROWS_OF_STATEMENT = 100;

export interface RecordStateQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly lockRows: LockRows;
}

/** Creates the store of the states of one kind of records, for both dialects. */
export function createRecordStateStore(
  { db, attempt, check, lockRows }: RecordStateQueryDeps,
  kind: string,
): RecordStateStore {
  return {
    list: (only) =>
      attempt(async () => {
        let query = db
          .selectFrom("record_state")
          .select(["site_id as siteId", "name", "state"])
          .where("kind", "=", kind)
          .orderBy("name");
        if (only === "requests") query = query.where("name", "like", `${REQUEST}%`);
        return query.execute();
      }),
    write: (changes) =>
      attempt(() => {
        check?.();
        return db.transaction().execute(async (trx) => {
          // A deletion of a site waits, so that it finds what is written here.
          const ids = [...new Set(changes.map(({ siteId }) => siteId))];
          const sites = trx.selectFrom("site").select("id").where("id", "in", ids).orderBy("id");
          const known = new Set((await lockRows(sites).execute()).map(({ id }) => id));
          // Of several changes of a row, the last one holds.
          const last = new Map(changes.map((each) => [`${each.siteId}/${each.name}`, each]));
          const rows: { site_id: string; kind: string; name: string; state: string }[] = [];
          for (const { siteId, name, state } of last.values())
            if (state === undefined)
              await trx
                .deleteFrom("record_state")
                .where("site_id", "=", siteId)
                .where("kind", "=", kind)
                .where("name", "=", name)
                .execute();
            else if (known.has(siteId)) rows.push({ site_id: siteId, kind, name, state });
          for (let at = 0; at < rows.length; at += ROWS_OF_STATEMENT)
            await trx
              .insertInto("record_state")
              .values(rows.slice(at, at + ROWS_OF_STATEMENT))
              .onConflict((conflict) =>
                conflict
                  .columns(["site_id", "kind", "name"])
                  .doUpdateSet({ state: (eb) => eb.ref("excluded.state") }),
              )
              .execute();
        });
      }),
  };
}

/** States of records on sites, whose hashes change with the sealing key. */
export const RECORD_STATES: HashedStates = {
  table: "record_state",
  read: (db) => db.selectFrom("record_state").select("state").execute(),
  replace: async (trx, change) => {
    const rows = await trx.selectFrom("record_state").selectAll().orderBy("name").execute();
    for (const { site_id, kind, name, state } of rows) {
      const next = change(state);
      if (next === state) continue;
      await trx
        .updateTable("record_state")
        .set({ state: next })
        .where("site_id", "=", site_id)
        .where("kind", "=", kind)
        .where("name", "=", name)
        .execute();
    }
  },
};
