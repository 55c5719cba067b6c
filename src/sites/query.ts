import type { Kysely, Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { unlessTaken } from "../database/error.ts";
import { dropLease, takeLease } from "../database/lease.ts";
import { markSites, sitesVersion } from "../database/meta-query.ts";
import type { LockRows } from "../database/row-lock.ts";
import type { Database, SiteRow, SiteStateTable } from "../database/schema.ts";
import type { HashedStates } from "../ledger/history-query.ts";
import { readEvents, writeEvents } from "./log-query.ts";
import {
  isSameSite,
  type SiteNote,
  type SiteStateWrite,
  type SiteStore,
  type StoredSite,
  type StoredSiteState,
} from "./store.ts";

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
  const { db, attempt, check, append } = deps;
  const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      check?.();
      return db.transaction().execute(work);
    });
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
            const row = await lockedSites(trx, [site.id], deps).selectAll().executeTakeFirst();
            if (row === undefined || !isSameSite(siteFromRow(row), before)) return undefined;
          }
          if (!(await updateSite(trx, site))) return false;
          await append(trx, audit);
          await markSites(trx);
          return true;
        }),
        false,
      ),
    delete: (id, audit) =>
      writing(async (trx) => {
        await deleteSite(trx, id);
        await append(trx, audit);
        await markSites(trx);
      }),
    states: () =>
      attempt(async () => {
        const rows = await db.selectFrom("site_state").selectAll().execute();
        return rows.map(stateFromRow);
      }),
    record: (records) => writing((trx) => writeRecords(trx, records, deps)),
    note: (notes) => writing((trx) => writeNotes(trx, notes, deps)),
    log: (siteId, page) => attempt(() => readEvents(db, siteId, page)),
    lease: (name, holder, now, ttl) => writing((trx) => takeLease(trx, name, holder, now, ttl)),
    release: (name, holder) => writing((trx) => dropLease(trx, name, holder)),
  };
}

/** Locks sites, in one order in all processes: PostgreSQL locks row after row. */
function lockedSites(
  trx: Transaction<Database>,
  ids: readonly string[],
  { lockRows }: Pick<SiteQueryDeps, "lockRows">,
) {
  return lockRows(trx.selectFrom("site").where("id", "in", ids).orderBy("id"));
}

/** Locks those of the sites that exist: a deletion waits, so that it finds what is written then. */
async function lockKnown(
  trx: Transaction<Database>,
  ids: readonly string[],
  deps: Pick<SiteQueryDeps, "lockRows">,
): Promise<ReadonlySet<string>> {
  const rows = await lockedSites(trx, [...new Set(ids)], deps)
    .select("id")
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Writes states of sites with their events and audit entries. @returns as `SiteStore.record`. */
async function writeRecords(
  trx: Transaction<Database>,
  records: readonly SiteStateWrite[],
  deps: Pick<SiteQueryDeps, "append" | "lockRows">,
): Promise<readonly (number | undefined)[]> {
  const ids = records.map(({ state }) => state.siteId);
  const known = await lockKnown(trx, ids, deps);
  const versions: (number | undefined)[] = [];
  for (const { state } of records)
    versions.push(known.has(state.siteId) ? await writeState(trx, state) : undefined);
  const written = records.filter((_record, at) => versions[at] !== undefined);
  const events = written.map((record) => ({
    siteId: record.state.siteId,
    events: record.events,
  }));
  await writeEvents(trx, events);
  const audit = written.flatMap((record) => record.audit);
  await deps.append(trx, audit);
  if (written.length > 0) await markSites(trx);
  return versions;
}

/** Writes events of the sites that exist, and all audit entries. */
async function writeNotes(
  trx: Transaction<Database>,
  notes: readonly SiteNote[],
  deps: Pick<SiteQueryDeps, "append" | "lockRows">,
): Promise<void> {
  const ids = notes.map(({ siteId }) => siteId);
  const known = await lockKnown(trx, ids, deps);
  const written = notes.filter(({ siteId }) => known.has(siteId));
  await writeEvents(trx, written);
  const audit = notes.flatMap((note) => note.audit);
  await deps.append(trx, audit);
}

/** @returns false: there is no such site. */
async function updateSite(trx: Transaction<Database>, site: StoredSite): Promise<boolean> {
  const { id, ...rest } = siteToRow(site);
  const done = await trx.updateTable("site").set(rest).where("id", "=", id).executeTakeFirst();
  return done.numUpdatedRows > 0n;
}

/** Deletes a site with all that is stored about it. */
async function deleteSite(trx: Transaction<Database>, id: string): Promise<void> {
  await trx.deleteFrom("site").where("id", "=", id).execute();
  for (const table of OF_SITES) await trx.deleteFrom(table).where("site_id", "=", id).execute();
}

/** Tables with rows of sites. */
const OF_SITES = [
  "site_state",
  "site_log",
  "record_state",
  "site_day",
  "mount_day",
  "mount_span",
] as const;

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

function siteFromRow({ paused, upstream, ...rest }: SiteRow): StoredSite {
  return { ...rest, paused: paused === 1, upstream: upstream === 1 };
}

function stateFromRow({
  site_id: siteId,
  version,
  applied_revision: appliedRevision,
  state,
}: SiteStateTable): StoredSiteState {
  return { siteId, version, appliedRevision, state };
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
