import { randomInt } from "node:crypto";
import type { Kysely } from "kysely";
import type { LockRows } from "../database/row-lock.ts";
import type { Database } from "../database/schema.ts";
import type { HashedStates } from "../ledger/history-query.ts";
import { AFTER_REQUESTS, MARK, REQUEST, type RecordStateStore } from "./record-state-store.ts";

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
          .where("name", "!=", MARK)
          .orderBy("name");
        // By site: the index of the table begins with it.
        if (only === "requests")
          query = query
            .where("site_id", "in", db.selectFrom("site").select("id"))
            .where("name", ">=", REQUEST)
            .where("name", "<", AFTER_REQUESTS);
        return query.execute();
      }),
    marks: () =>
      attempt(async () => {
        const rows = await db
          .selectFrom("site")
          .leftJoin("record_state", (join) =>
            join
              .onRef("record_state.site_id", "=", "site.id")
              .on("record_state.kind", "=", kind)
              .on("record_state.name", "=", MARK),
          )
          .select(["site.id as siteId", "record_state.state as mark"])
          .execute();
        return new Map(rows.map(({ siteId, mark }) => [siteId, mark ?? ""]));
      }),
    ofSite: (siteId) =>
      attempt(() =>
        db
          .selectFrom("record_state")
          .select(["site_id as siteId", "name", "state"])
          .where("site_id", "=", siteId)
          .where("kind", "=", kind)
          .where("name", "!=", MARK)
          .orderBy("name")
          .execute(),
      ),
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
          const rows = [...known].map((id) => ({
            site_id: id,
            kind,
            name: MARK,
            state: newMark(),
          }));
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

function newMark(): string {
  return String(randomInt(2 ** 47));
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
