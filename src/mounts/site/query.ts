import type { Kysely } from "kysely";
import type { LockRows } from "../../database/row-lock.ts";
import type { Database } from "../../database/schema.ts";
import type { HashedStates } from "../../ledger/history-query.ts";
import { type MountStateStore, REQUEST } from "./registry.ts";

export interface MountStateQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly lockRows: LockRows;
}

/** Creates the store of mount states for both dialects. */
export function createMountStateStore({
  db,
  attempt,
  check,
  lockRows,
}: MountStateQueryDeps): MountStateStore {
  return {
    list: (only) =>
      attempt(async () => {
        let query = db.selectFrom("mount_state").selectAll().orderBy("name");
        if (only === "requests") query = query.where("name", "like", `${REQUEST}%`);
        const rows = await query.execute();
        return rows.map(({ site_id: siteId, ...rest }) => ({ siteId, ...rest }));
      }),
    write: (changes) =>
      attempt(() => {
        check?.();
        return db.transaction().execute(async (trx) => {
          // A deletion of a site waits, so that it finds what is written here.
          const ids = [...new Set(changes.map(({ siteId }) => siteId))];
          const sites = trx.selectFrom("site").select("id").where("id", "in", ids).orderBy("id");
          const known = new Set((await lockRows(sites).execute()).map(({ id }) => id));
          for (const { siteId, name, state } of changes)
            if (state === undefined)
              await trx
                .deleteFrom("mount_state")
                .where("site_id", "=", siteId)
                .where("name", "=", name)
                .execute();
            else if (known.has(siteId))
              await trx
                .insertInto("mount_state")
                .values({ site_id: siteId, name, state })
                .onConflict((conflict) =>
                  conflict.columns(["site_id", "name"]).doUpdateSet({ state }),
                )
                .execute();
        });
      }),
  };
}

/** States of mounts on sites, whose hashes change with the sealing key. */
export const MOUNT_STATES: HashedStates = {
  table: "mount_state",
  read: (db) => db.selectFrom("mount_state").select("state").execute(),
  replace: async (trx, change) => {
    const rows = await trx.selectFrom("mount_state").selectAll().orderBy("name").execute();
    for (const { site_id, name, state } of rows) {
      const next = change(state);
      if (next === state) continue;
      await trx
        .updateTable("mount_state")
        .set({ state: next })
        .where("site_id", "=", site_id)
        .where("name", "=", name)
        .execute();
    }
  },
};
