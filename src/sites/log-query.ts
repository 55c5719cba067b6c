import type { Kysely, Transaction } from "kysely";
import type { Database } from "../database/schema.ts";
import { textFromColumn, textToColumn } from "../messages/message.ts";
import type { LogPage, SiteNote, StoredSiteEvent } from "./store.ts";

/** Maximum number of log entries of a site. */
const MAX_EVENTS = 1_000;

/** Log of a site, newest first. */
export async function readEvents(
  db: Kysely<Database>,
  siteId: string,
  { limit, before, without = [] }: LogPage,
): Promise<readonly StoredSiteEvent[]> {
  let query = db.selectFrom("site_log").selectAll().where("site_id", "=", siteId);
  if (before !== undefined) query = query.where("seq", "<", before);
  if (without.length > 0) query = query.where("action", "not in", without);
  const rows = await query.orderBy("seq", "desc").limit(limit).execute();
  return rows.map(({ seq, time, actor, action, revision, keys, result }) => ({
    seq,
    time,
    actor,
    action,
    revision,
    keys: JSON.parse(keys) as string[],
    result: textFromColumn(result),
  }));
}

/** Appends events to the logs of their sites, and removes the oldest ones beyond the maximum. */
export async function writeEvents(
  trx: Transaction<Database>,
  records: readonly Pick<SiteNote, "siteId" | "events">[],
): Promise<void> {
  const written = records.filter(({ events }) => events.length > 0);
  if (written.length === 0) return;
  const found = await trx
    .selectFrom("site_log")
    .select((eb) => ["site_id", eb.fn.max("seq").as("seq")])
    .where(
      "site_id",
      "in",
      written.map(({ siteId }) => siteId),
    )
    .groupBy("site_id")
    .execute();
  const last = new Map(found.map(({ site_id, seq }) => [site_id, seq]));
  const rows = written.flatMap(({ siteId, events }) =>
    events.map(({ keys, ...event }) => {
      const seq = (last.get(siteId) ?? 0) + 1;
      last.set(siteId, seq);
      return {
        ...event,
        result: textToColumn(event.result),
        site_id: siteId,
        seq,
        keys: JSON.stringify(keys),
      };
    }),
  );
  for (let at = 0; at < rows.length; at += MAX_EVENTS)
    await trx
      .insertInto("site_log")
      .values(rows.slice(at, at + MAX_EVENTS))
      .execute();
  for (const [siteId, seq] of last)
    if (seq > MAX_EVENTS)
      await trx
        .deleteFrom("site_log")
        .where("site_id", "=", siteId)
        .where("seq", "<=", seq - MAX_EVENTS)
        .execute();
}
