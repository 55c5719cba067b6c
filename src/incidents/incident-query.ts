import type { Transaction } from "kysely";
import type { Database, IncidentRow } from "../database/schema.ts";
import { textFromColumn, textToColumn } from "../messages/message.ts";
import type { IncidentClass, IncidentSource, IncidentSubject } from "./incident.ts";
import type { IncidentStore, StoredIncident } from "./store.ts";
import type { IncidentTables } from "./tables-query.ts";
import { addDeliveries } from "./webhook/delivery-query.ts";

/** Maximum number of kept closed incidents. */
const MAX_CLOSED = 10_000;

/** Reads and writes incidents. */
export function incidentQueries({
  db,
  attempt,
  writing,
  append,
  lockRows,
}: IncidentTables): Pick<IncidentStore, "list" | "get" | "write" | "acknowledge"> {
  return {
    list: ({ ids, subject, name, siteId, mountPath, open, during, before, limit }) =>
      attempt(async () => {
        let query = db.selectFrom("incident").selectAll();
        if (ids !== undefined) query = query.where("id", "in", ids);
        if (subject !== undefined) query = query.where("subject", "=", subject);
        if (name !== undefined) query = query.where("name", "=", name);
        if (siteId !== undefined) query = query.where("site_id", "=", siteId);
        if (mountPath !== undefined) query = query.where("mount_path", "=", mountPath);
        if (open !== undefined) query = query.where("closed_at", open ? "=" : ">", 0);
        if (during !== undefined)
          query = query
            .where("opened_at", "<", during.to)
            .where((eb) => eb.or([eb("closed_at", "=", 0), eb("closed_at", ">=", during.from)]));
        if (before !== undefined)
          query = query.where((eb) =>
            eb.or([
              eb("opened_at", "<", before.openedAt),
              eb.and([eb("opened_at", "=", before.openedAt), eb("id", "<", before.id)]),
            ]),
          );
        const rows = await query
          .orderBy("opened_at", "desc")
          .orderBy("id", "desc")
          .limit(limit)
          .execute();
        return rows.map(incidentFromRow);
      }),
    get: (id) =>
      attempt(async () => {
        const row = await db
          .selectFrom("incident")
          .selectAll()
          .where("id", "=", id)
          .executeTakeFirst();
        return row && incidentFromRow(row);
      }),
    write: (incidents, deliveries, join) =>
      writing(async (trx) => {
        for (const incident of incidents) {
          const row = incidentToRow(incident);
          const { id: _id, acknowledged_at, acknowledged_by, note, ...rest } = row;
          await trx
            .insertInto("incident")
            .values(row)
            .onConflict((conflict) => conflict.column("id").doUpdateSet(rest))
            .execute();
        }
        await addDeliveries(trx, deliveries, { lockRows, join });
      }),
    acknowledge: ({ id, changedAt, acknowledgedAt, acknowledgedBy, note }, deliveries, audit) =>
      writing(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable("incident")
          .set({ acknowledged_at: acknowledgedAt, acknowledged_by: acknowledgedBy, note })
          .where("id", "=", id)
          .where("changed_at", "=", changedAt)
          .where("closed_at", "=", 0)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await addDeliveries(trx, deliveries, { lockRows });
        await append(trx, audit);
        return true;
      }),
  };
}

/** Deletes incidents that were closed before a time, and the oldest above the maximum number. */
export async function forgetIncidents(trx: Transaction<Database>, before: number): Promise<void> {
  await trx
    .deleteFrom("incident")
    .where("closed_at", ">", 0)
    .where("closed_at", "<", before)
    .execute();
  await trimIncidents(trx);
}

async function trimIncidents(trx: Transaction<Database>): Promise<void> {
  const last = await trx
    .selectFrom("incident")
    .select("closed_at")
    .where("closed_at", ">", 0)
    .orderBy("closed_at", "desc")
    .offset(MAX_CLOSED)
    .limit(1)
    .executeTakeFirst();
  if (last !== undefined)
    await trx
      .deleteFrom("incident")
      .where("closed_at", ">", 0)
      .where("closed_at", "<=", last.closed_at)
      .execute();
}

function incidentFromRow(row: IncidentRow): StoredIncident {
  return {
    id: row.id,
    subject: row.subject as IncidentSubject,
    name: row.name,
    siteId: row.site_id,
    mountPath: row.mount_path,
    driver: row.driver,
    class: row.class as IncidentClass,
    source: row.source as IncidentSource,
    message: textFromColumn(row.message),
    openedAt: row.opened_at,
    changedAt: row.changed_at,
    closedAt: row.closed_at,
    acknowledgedAt: row.acknowledged_at,
    acknowledgedBy: row.acknowledged_by,
    note: row.note,
    signals: JSON.parse(row.signals) as StoredIncident["signals"],
  };
}

function incidentToRow(incident: StoredIncident): IncidentRow {
  return {
    id: incident.id,
    subject: incident.subject,
    name: incident.name,
    site_id: incident.siteId,
    mount_path: incident.mountPath,
    driver: incident.driver,
    class: incident.class,
    source: incident.source,
    message: textToColumn(incident.message),
    opened_at: incident.openedAt,
    changed_at: incident.changedAt,
    closed_at: incident.closedAt,
    acknowledged_at: incident.acknowledgedAt,
    acknowledged_by: incident.acknowledgedBy,
    note: incident.note,
    signals: JSON.stringify(incident.signals),
  };
}
