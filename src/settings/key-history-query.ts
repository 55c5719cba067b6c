import { setImmediate as nextTurn } from "node:timers/promises";
import type { Kysely, Transaction } from "kysely";
import type { Database } from "../database/schema.ts";
import type { KeysOf } from "./history-query.ts";
import { changeFromRow } from "./row.ts";
import type { FirstChange, KeyAfter } from "./store.ts";

type Db = Kysely<Database> | Transaction<Database>;

/** Rows per query of {@link readFirstChanges}; more than the maximum number of keys. */
const PAGE = 10_000;

/** Returns those of the given keys that have changes in the history, in one query. */
export async function readKnownKeys(
  db: Db,
  keys: readonly string[],
  keysOf: KeysOf,
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await keysOf(db, keys).execute();
  return new Set(rows.map(({ key }) => key));
}

/**
 * First change of each key after its revision, up to `upTo`. The history is read once for all keys, in
 * pages with an event-loop tick between two; values are read for the found changes only. Keys without
 * such a change are absent.
 *
 * @param asked at most 1,000.
 */
export async function readFirstChanges(
  db: Db,
  asked: readonly KeyAfter[],
  upTo: number,
): Promise<readonly FirstChange[]> {
  const open = Map.groupBy(asked, ({ key }) => key);
  const found: { readonly asked: KeyAfter; readonly revision: number }[] = [];
  let from = asked.reduce((least, { after }) => Math.min(least, after), upTo) + 1;
  while (open.size > 0 && from <= upTo) {
    const rows = await db
      .selectFrom("change")
      .select(["revision", "key"])
      .where("revision", ">=", from)
      .where("revision", "<=", upTo)
      .where("key", "in", [...open.keys()])
      .orderBy("revision")
      .limit(PAGE)
      .execute();
    for (const { revision, key } of rows) {
      const waiting = open.get(key) ?? [];
      const left = waiting.filter(({ after }) => after >= revision);
      for (const one of waiting) if (one.after < revision) found.push({ asked: one, revision });
      if (left.length > 0) open.set(key, left);
      else open.delete(key);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    // The last revision may have more rows than this page has shown.
    from = last.revision;
    await nextTurn();
  }
  return withValues(db, found);
}

async function withValues(
  db: Db,
  found: readonly { readonly asked: KeyAfter; readonly revision: number }[],
): Promise<readonly FirstChange[]> {
  if (found.length === 0) return [];
  const rows = await db
    .selectFrom("change")
    .selectAll()
    .where("revision", "in", [...new Set(found.map(({ revision }) => revision))])
    .where("key", "in", [...new Set(found.map(({ asked }) => asked.key))])
    .execute();
  const changes = new Map(rows.map((row) => [`${row.revision} ${row.key}`, row]));
  return found.flatMap(({ asked, revision }) => {
    const row = changes.get(`${revision} ${asked.key}`);
    return row === undefined ? [] : [{ ...asked, change: changeFromRow(row) }];
  });
}
