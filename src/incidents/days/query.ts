import type { Transaction } from "kysely";
import type { Database, MountDayRow, MountSpanRow, SiteDayRow } from "../../database/schema.ts";
import { textFromColumn, textToColumn } from "../../messages/message.ts";
import type { IncidentTables } from "../tables-query.ts";
import type { MountDay, MountSpan, MountState } from "./mount-span.ts";
import type { SiteDay } from "./site-day.ts";
import type { DayChange, DayStore } from "./store.ts";

/** Reads and writes the days of sites and mounts. */
export function dayQueries({
  db,
  attempt,
  writing,
}: Pick<IncidentTables, "db" | "attempt" | "writing">): DayStore {
  return {
    write: ({ changes, spans, sites }) =>
      writing(async (trx) => {
        for (const change of changes) await writeChange(trx, change);
        for (const span of spans) {
          const { site_id, path, ...rest } = spanToRow(span);
          await trx
            .insertInto("mount_span")
            .values({ site_id, path, ...rest })
            .onConflict((conflict) => conflict.columns(["site_id", "path"]).doUpdateSet(rest))
            .execute();
        }
        for (const each of sites) {
          const { site_id, day, ...rest } = siteDayToRow(each);
          await trx
            .insertInto("site_day")
            .values({ site_id, day, ...rest })
            .onConflict((conflict) => conflict.columns(["site_id", "day"]).doUpdateSet(rest))
            .execute();
        }
      }),
    siteDays: (siteIds) =>
      attempt(async () => {
        if (siteIds?.length === 0) return [];
        let query = db.selectFrom("site_day").selectAll();
        if (siteIds !== undefined) query = query.where("site_id", "in", siteIds);
        return (await query.execute()).map(siteDayFromRow);
      }),
    allSpans: () =>
      attempt(async () =>
        (await db.selectFrom("mount_span").selectAll().execute()).map(spanFromRow),
      ),
    spans: ({ siteId, after, path, failedSince, limit }) =>
      attempt(async () => {
        let query = db
          .selectFrom("mount_span")
          .selectAll()
          .where("site_id", "=", siteId)
          .where("state", "<>", "gone")
          .where("path", ">", after);
        if (path !== undefined) query = query.where("path", "=", path);
        if (failedSince !== undefined)
          query = query.where((eb) =>
            eb.or([
              eb("state", "=", "fails"),
              eb.exists(
                eb
                  .selectFrom("mount_day")
                  .select("mount_day.path")
                  .where("mount_day.site_id", "=", siteId)
                  .whereRef("mount_day.path", "=", "mount_span.path")
                  .where("mount_day.failed", ">", 0)
                  .where("mount_day.day", ">=", failedSince),
              ),
            ]),
          );
        const rows = await query.orderBy("path").limit(limit).execute();
        return rows.map(spanFromRow);
      }),
    mountDays: (siteId, paths) =>
      attempt(async () => {
        if (paths.length === 0) return [];
        const rows = await db
          .selectFrom("mount_day")
          .selectAll()
          .where("site_id", "=", siteId)
          .where("path", "in", paths)
          .orderBy("day")
          .execute();
        return rows.map(mountDayFromRow);
      }),
    forgetSites: () =>
      writing(async (trx) => {
        for (const table of ["site_day", "mount_day", "mount_span"] as const)
          await trx
            .deleteFrom(table)
            .where("site_id", "not in", (eb) => eb.selectFrom("site").select("site.id"))
            .execute();
      }),
  };
}

async function writeChange(trx: Transaction<Database>, change: DayChange): Promise<void> {
  switch (change.kind) {
    case "add": {
      const row = mountDayToRow(change.day);
      await trx
        .insertInto("mount_day")
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(["site_id", "path", "day"]).doUpdateSet((eb) => ({
            failed: eb("mount_day.failed", "+", row.failed),
            unmonitored: eb("mount_day.unmonitored", "+", row.unmonitored),
            reason: eb
              .case()
              .when("mount_day.reason", "=", "")
              .then(row.reason)
              .else(eb.ref("mount_day.reason"))
              .end(),
          })),
        )
        .execute();
      return;
    }
    case "move":
      await removeMount(trx, change.siteId, change.to);
      for (const table of ["mount_day", "mount_span"] as const)
        await trx
          .updateTable(table)
          .set({ path: change.to })
          .where("site_id", "=", change.siteId)
          .where("path", "=", change.from)
          .execute();
      return;
    case "remove":
      await removeMount(trx, change.siteId, change.path);
      return;
    case "forget":
      for (const table of ["site_day", "mount_day"] as const)
        await trx
          .deleteFrom(table)
          .where("site_id", "=", change.siteId)
          .where("day", "<", change.before)
          .execute();
  }
}

async function removeMount(
  trx: Transaction<Database>,
  siteId: string,
  path: string,
): Promise<void> {
  for (const table of ["mount_day", "mount_span"] as const)
    await trx.deleteFrom(table).where("site_id", "=", siteId).where("path", "=", path).execute();
}

function siteDayFromRow({ site_id, counted_to, reason, ...rest }: SiteDayRow): SiteDay {
  return { ...rest, siteId: site_id, countedTo: counted_to, reason: textFromColumn(reason) };
}

function siteDayToRow({ siteId, countedTo, reason, ...rest }: SiteDay): SiteDayRow {
  return { ...rest, site_id: siteId, counted_to: countedTo, reason: textToColumn(reason) };
}

function spanFromRow({
  site_id,
  first_day,
  first_at,
  state,
  reason,
  ...rest
}: MountSpanRow): MountSpan {
  return {
    ...rest,
    siteId: site_id,
    firstDay: first_day,
    firstAt: first_at,
    state: state as MountState,
    reason: textFromColumn(reason),
  };
}

function spanToRow({ siteId, firstDay, firstAt, reason, ...rest }: MountSpan): MountSpanRow {
  return {
    ...rest,
    site_id: siteId,
    first_day: firstDay,
    first_at: firstAt,
    reason: textToColumn(reason),
  };
}

function mountDayFromRow({ site_id, reason, ...rest }: MountDayRow): MountDay {
  return { ...rest, siteId: site_id, reason: textFromColumn(reason) };
}

function mountDayToRow({ siteId, reason, ...rest }: MountDay): MountDayRow {
  return { ...rest, site_id: siteId, reason: textToColumn(reason) };
}
