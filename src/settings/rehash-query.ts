import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { markRewrite } from "../database/meta-query.ts";
import type { Database } from "../database/schema.ts";
import type { Rehash } from "./store.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Number of rows of the history per query. */
const BATCH = 500;
/** A hash within the JSON of a site's state; none of its characters is escaped there. */
const HASH = /(?<=")hmac[12]:(?:[0-9a-f]{12}:(?:past:)?)?[A-Za-z0-9_-]{43}(?=")/g;

/** Reports whether hashes of another form than the wanted one exist. */
export async function hasOtherHashes(db: Db, { form }: Pick<Rehash, "form">): Promise<boolean> {
  if ((await otherChanges(db, form, 1)).length > 0) return true;
  const states = await db.selectFrom("site_state").select("state").execute();
  return states.some(({ state }) => hashesOf(state).some((hash) => !hash.startsWith(form)));
}

/**
 * Replaces hashes of other forms in the history and in the state of sites.
 *
 * @returns the number of replaced hashes.
 */
export async function rehashRows(
  trx: Transaction<Database>,
  { form, renew, audit }: Rehash,
  append: AppendAudit,
): Promise<number> {
  let count = 0;
  const replace = (hash: string): string => {
    if (hash.startsWith(form)) return hash;
    count += 1;
    return renew(hash);
  };
  for (let from = 0; ; ) {
    const rows = await otherChanges(trx, form, BATCH, from);
    for (const { revision, key, old_hash, new_hash } of rows)
      await trx
        .updateTable("change")
        .set({
          old_hash: old_hash === null ? null : replace(old_hash),
          new_hash: new_hash === null ? null : replace(new_hash),
        })
        .where("revision", "=", revision)
        .where("key", "=", key)
        .execute();
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) break;
    from = last.revision;
  }
  const states = await trx
    .selectFrom("site_state")
    .select(["site_id", "version", "state"])
    .orderBy("site_id")
    .execute();
  for (const { site_id, version, state } of states) {
    const next = state.replaceAll(HASH, replace);
    if (next === state) continue;
    // A new version, so that processes with the old state read it again before they write.
    await trx
      .updateTable("site_state")
      .set({ state: next, version: version + 1 })
      .where("site_id", "=", site_id)
      .execute();
  }
  if (count === 0) return 0;
  await markRewrite(trx);
  await append(trx, audit(count));
  return count;
}

/** Rows of the history with a hash of another form, from a revision on. */
function otherChanges(db: Db, form: string, limit: number, from = 0) {
  return db
    .selectFrom("change")
    .select(["revision", "key", "old_hash", "new_hash"])
    .where("revision", ">=", from)
    .where((eb) =>
      eb.or([eb("old_hash", "not like", `${form}%`), eb("new_hash", "not like", `${form}%`)]),
    )
    .orderBy("revision")
    .limit(limit)
    .execute();
}

function hashesOf(state: string): readonly string[] {
  return state.match(HASH) ?? [];
}
