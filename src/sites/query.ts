import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { unlessTaken } from "../database/error.ts";
import { dropLease, takeLease } from "../database/job.ts";
import { markSites, sitesVersion } from "../database/meta-query.ts";
import type { LockRows } from "../database/row-lock.ts";
import type { Database, SiteRow } from "../database/schema.ts";
import type { HashedStates } from "../ledger/history-query.ts";
import { textFromColumn, textToColumn } from "../messages/message.ts";
import {
  isSameSite,
  type SiteNote,
  type SiteStore,
  type StoredSite,
  type StoredSiteState,
} from "./store.ts";

/** Maximum number of log entries of a site. */
const MAX_EVENTS = 1_000;

export interface SiteQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly append: AppendAudit;
  readonly lockRows: LockRows;
}

/** Creates the store of sites for both dialects. */
export function createSiteStore(deps: SiteQueryDeps): SiteStore {
  const { db, attempt, check, append, lockRows } = deps;
  const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      check?.();
      return db.transaction().execute(work);
    });
  // In one order in all processes: PostgreSQL locks row after row.
  const locked = (trx: Transaction<Database>, ids: readonly string[]) =>
    lockRows(trx.selectFrom("site").where("id", "in", ids).orderBy("id"));
  return {
    version: () => attempt(() => sitesVersion(db)),
    list: () =>
      attempt(async () => {
        const rows = await db.selectFrom("site").selectAll().orderBy("name").execute();
        return rows.map(siteFromRow);
      }),
    insert: (site, audit) =>
      unlessTaken(
        writing(async (trx) => {
          await trx.insertInto("site").values(siteToRow(site)).execute();
          await append(trx, audit);
          await markSites(trx);
          return true;
        }),
        false,
      ),
    update: (site, audit, before) =>
      unlessTaken(
        writing(async (trx): Promise<boolean | undefined> => {
          if (before !== undefined) {
            const row = await locked(trx, [site.id]).selectAll().executeTakeFirst();
            if (row === undefined || !isSameSite(siteFromRow(row), before)) return undefined;
          }
          const { id, ...rest } = siteToRow(site);
          const done = await trx
            .updateTable("site")
            .set(rest)
            .where("id", "=", id)
            .executeTakeFirst();
          if (done.numUpdatedRows === 0n) return false;
          await append(trx, audit);
          await markSites(trx);
          return true;
        }),
        false,
      ),
    delete: (id, audit) =>
      writing(async (trx) => {
        await trx.deleteFrom("site").where("id", "=", id).execute();
        await trx.deleteFrom("site_state").where("site_id", "=", id).execute();
        await trx.deleteFrom("site_log").where("site_id", "=", id).execute();
        await trx.deleteFrom("record_state").where("site_id", "=", id).execute();
        for (const table of ["site_day", "mount_day", "mount_span"] as const)
          await trx.deleteFrom(table).where("site_id", "=", id).execute();
        await append(trx, audit);
        await markSites(trx);
      }),
    states: () =>
      attempt(async () => {
        const rows = await db.selectFrom("site_state").selectAll().execute();
        return rows.map(({ site_id, version, applied_revision, state }) => ({
          siteId: site_id,
          version,
          appliedRevision: applied_revision,
          state,
        }));
      }),
    record: (records) =>
      writing(async (trx) => {
        // A deletion of a site waits, so that it finds what is written here.
        const ids = records.map(({ state }) => state.siteId);
        const rows = await locked(trx, ids).select("id").execute();
        const known = new Set(rows.map(({ id }) => id));
        const versions: (number | undefined)[] = [];
        for (const { state } of records)
          versions.push(known.has(state.siteId) ? await writeState(trx, state) : undefined);
        const written = records.filter((_record, at) => versions[at] !== undefined);
        await writeEvents(
          trx,
          written.map(({ state: { siteId }, events }) => ({ siteId, events })),
        );
        await append(
          trx,
          written.flatMap(({ audit }) => audit),
        );
        if (written.length > 0) await markSites(trx);
        return versions;
      }),
    note: (notes) =>
      writing(async (trx) => {
        const ids = [...new Set(notes.map(({ siteId }) => siteId))];
        const rows = await locked(trx, ids).select("id").execute();
        const known = new Set(rows.map(({ id }) => id));
        await writeEvents(
          trx,
          notes.filter(({ siteId }) => known.has(siteId)),
        );
        await append(
          trx,
          notes.flatMap(({ audit }) => audit),
        );
      }),
    log: (siteId, limit, before) =>
      attempt(async () => {
        let query = db.selectFrom("site_log").selectAll().where("site_id", "=", siteId);
        if (before !== undefined) query = query.where("seq", "<", before);
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
      }),
    lease: (name, holder, now, ttl) => writing((trx) => takeLease(trx, name, holder, now, ttl)),
    release: (name, holder) => writing((trx) => dropLease(trx, name, holder)),
  };
}

/** @returns the new version; undefined: another process has written meanwhile. */
async function writeState(
  trx: Transaction<Database>,
  { siteId, version, appliedRevision, state }: StoredSiteState,
): Promise<number | undefined> {
  const row = { version: version + 1, applied_revision: appliedRevision, state };
  const done = await trx
    .insertInto("site_state")
    .values({ site_id: siteId, ...row })
    .onConflict((conflict) =>
      conflict.column("site_id").doUpdateSet(row).where("site_state.version", "=", version),
    )
    .executeTakeFirst();
  return (done.numInsertedOrUpdatedRows ?? 0n) === 0n ? undefined : row.version;
}

async function writeEvents(
  trx: Transaction<Database>,
  records: readonly Pick<SiteNote, "siteId" | "events">[],
): Promise<void> {
  const told = records.filter(({ events }) => events.length > 0);
  if (told.length === 0) return;
  const found = await trx
    .selectFrom("site_log")
    .select((eb) => ["site_id", eb.fn.max("seq").as("seq")])
    .where(
      "site_id",
      "in",
      told.map(({ siteId }) => siteId),
    )
    .groupBy("site_id")
    .execute();
  const last = new Map(found.map(({ site_id, seq }) => [site_id, seq]));
  const rows = told.flatMap(({ siteId, events }) =>
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

function siteFromRow({ paused, upstream, ...rest }: SiteRow): StoredSite {
  return { ...rest, paused: paused === 1, upstream: upstream === 1 };
}

function siteToRow({ paused, upstream, ...rest }: StoredSite): SiteRow {
  return { ...rest, paused: paused ? 1 : 0, upstream: upstream ? 1 : 0 };
}

/** States of sites, whose hashes change with the sealing key. */
export const SITE_STATES: HashedStates = {
  table: "site_state",
  read: (db) => db.selectFrom("site_state").select("state").execute(),
  replace: async (trx, change) => {
    const rows = await trx
      .selectFrom("site_state")
      .select(["site_id", "version", "state"])
      .orderBy("site_id")
      .execute();
    for (const { site_id, version, state } of rows) {
      const next = change(state);
      if (next === state) continue;
      // A new version, so that processes with the old state read it again before they write.
      await trx
        .updateTable("site_state")
        .set({ state: next, version: version + 1 })
        .where("site_id", "=", site_id)
        .execute();
    }
  },
};
