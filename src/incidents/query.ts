import { type Kysely, sql, type Transaction } from "kysely";
import type { AppendAudit } from "../audit/query.ts";
import { unlessTaken } from "../database/error.ts";
import type { LockRows } from "../database/row-lock.ts";
import type { Database, IncidentRow, WebhookDeliveryRow, WebhookRow } from "../database/schema.ts";
import { textFromColumn, textToColumn } from "../messages/message.ts";
import type { IncidentClass, IncidentSource } from "./incident.ts";
import type {
  DeliveryState,
  IncidentStore,
  StoredDelivery,
  StoredIncident,
  StoredWebhook,
  WebhookPut,
} from "./store.ts";

/** Maximum number of kept deliveries per webhook, and of kept closed incidents. */
const MAX_DELIVERIES = 1_000;
const MAX_CLOSED = 10_000;

export interface IncidentQueryDeps {
  readonly db: Kysely<Database>;
  /** Runs a query, possibly repeatedly. Rejects with a StoreError. */
  readonly attempt: <T>(work: () => Promise<T>) => Promise<T>;
  /** Throws when the database must not be written. */
  readonly check?: () => void;
  readonly append: AppendAudit;
  readonly lockRows: LockRows;
}

/** Creates the store of incidents for both dialects. */
export function createIncidentStore(deps: IncidentQueryDeps): IncidentStore {
  const { db, attempt, check, append, lockRows } = deps;
  const writing = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    attempt(() => {
      check?.();
      return db.transaction().execute(work);
    });
  /**
   * Those of the webhooks that exist. All transactions with deliveries lock these rows first, in one
   * order: a deletion finds what they write, and results of attempts are stored one after the other.
   */
  const lockWebhooks = async (
    trx: Transaction<Database>,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const rows = await lockRows(
      trx.selectFrom("webhook").select("id").where("id", "in", ids).orderBy("id"),
    ).execute();
    return new Set(rows.map(({ id }) => id));
  };
  const addDeliveries = async (
    trx: Transaction<Database>,
    deliveries: readonly StoredDelivery[],
  ): Promise<void> => {
    const known = await lockWebhooks(trx, [
      ...new Set(deliveries.map(({ webhookId }) => webhookId)),
    ]);
    for (const delivery of deliveries)
      if (known.has(delivery.webhookId))
        await trx.insertInto("webhook_delivery").values(deliveryToRow(delivery)).execute();
  };
  return {
    list: ({ ids, siteId, mountPath, open, before, limit }) =>
      attempt(async () => {
        let query = db.selectFrom("incident").selectAll();
        if (ids !== undefined) query = query.where("id", "in", ids);
        if (siteId !== undefined) query = query.where("site_id", "=", siteId);
        if (mountPath !== undefined) query = query.where("mount_path", "=", mountPath);
        if (open !== undefined) query = query.where("closed_at", open ? "=" : ">", 0);
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
    write: (incidents, deliveries) =>
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
        await addDeliveries(trx, deliveries);
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
        await addDeliveries(trx, deliveries);
        await append(trx, audit);
        return true;
      }),
    webhooks: () =>
      attempt(async () => {
        const rows = await db.selectFrom("webhook").selectAll().orderBy("name").execute();
        return rows.map(webhookFromRow);
      }),
    putWebhook: (webhook, { before, audit }) =>
      unlessTaken(
        writing(async (trx): Promise<WebhookPut> => {
          const { id, ...rest } = webhookToRow(webhook);
          if (before === undefined)
            await trx
              .insertInto("webhook")
              .values({ id, ...rest })
              .execute();
          else {
            const read = Object.entries(webhookToRow(before));
            const { numUpdatedRows } = await trx
              .updateTable("webhook")
              .set(rest)
              .where((eb) => eb.and(Object.fromEntries(read)))
              .executeTakeFirst();
            if (numUpdatedRows === 0n)
              return (await lockWebhooks(trx, [id])).size === 0 ? "gone" : "changed";
          }
          await append(trx, audit);
          return "stored";
        }),
        "taken",
      ),
    deleteWebhook: (id, audit) =>
      writing(async (trx) => {
        await trx.deleteFrom("webhook").where("id", "=", id).execute();
        await trx.deleteFrom("webhook_delivery").where("webhook_id", "=", id).execute();
        await append(trx, audit);
      }),
    deliveries: (webhookId, limit, before) =>
      attempt(async () => {
        let query = db
          .selectFrom("webhook_delivery")
          .selectAll()
          .where("webhook_id", "=", webhookId);
        if (before !== undefined)
          query = query.where((eb) =>
            eb.or([
              eb("created_at", "<", before.createdAt),
              eb.and([eb("created_at", "=", before.createdAt), eb("id", "<", before.id)]),
            ]),
          );
        const rows = await query
          .orderBy("created_at", "desc")
          .orderBy("id", "desc")
          .limit(limit)
          .execute();
        return rows.map(deliveryFromRow);
      }),
    delivery: (id) =>
      attempt(async () => {
        const row = await db
          .selectFrom("webhook_delivery")
          .selectAll()
          .where("id", "=", id)
          .executeTakeFirst();
        return row && deliveryFromRow(row);
      }),
    due: (now, longest) =>
      attempt(async () => {
        const rows = await db
          .selectFrom((eb) =>
            eb
              .selectFrom("webhook_delivery")
              .selectAll()
              .select(
                sql<number>`row_number() over (partition by webhook_id order by next_try, id)`.as(
                  "place",
                ),
              )
              .where("state", "=", "waiting")
              .where((where) =>
                where.or([
                  where("next_try", "<=", now),
                  ...longest.map((pause, attempts) =>
                    where.and([
                      where("attempts", "=", attempts),
                      where("next_try", ">", now + pause),
                    ]),
                  ),
                ]),
              )
              .as("due"),
          )
          .selectAll()
          .where("place", "=", 1)
          .orderBy("next_try")
          .orderBy("id")
          .execute();
        return rows.map(deliveryFromRow);
      }),
    changeDelivery: (delivery, change, audit = []) =>
      writing(async (trx) => {
        if ((await lockWebhooks(trx, [delivery.webhookId])).size === 0) return change(delivery);
        const row = await trx
          .selectFrom("webhook_delivery")
          .selectAll()
          .where("id", "=", delivery.id)
          .executeTakeFirst();
        const changed = change(row === undefined ? delivery : deliveryFromRow(row));
        const { id, ...rest } = deliveryToRow(changed);
        await trx
          .insertInto("webhook_delivery")
          .values({ id, ...rest })
          .onConflict((conflict) => conflict.column("id").doUpdateSet(rest))
          .execute();
        await append(trx, audit);
        return changed;
      }),
    forget: (before) =>
      writing(async (trx) => {
        await trx
          .deleteFrom("incident")
          .where("closed_at", ">", 0)
          .where("closed_at", "<", before)
          .execute();
        await trx
          .deleteFrom("webhook_delivery")
          .where("state", "!=", "waiting")
          .where("created_at", "<", before)
          .execute();
        await trimIncidents(trx);
        await trimDeliveries(trx);
      }),
  };
}

/** Deletes the oldest closed incidents above the maximum number. */
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

async function trimDeliveries(trx: Transaction<Database>): Promise<void> {
  for (const { id } of await trx.selectFrom("webhook").select("id").execute()) {
    const last = await trx
      .selectFrom("webhook_delivery")
      .select("created_at")
      .where("webhook_id", "=", id)
      .where("state", "!=", "waiting")
      .orderBy("created_at", "desc")
      .offset(MAX_DELIVERIES)
      .limit(1)
      .executeTakeFirst();
    if (last !== undefined)
      await trx
        .deleteFrom("webhook_delivery")
        .where("webhook_id", "=", id)
        .where("state", "!=", "waiting")
        .where("created_at", "<=", last.created_at)
        .execute();
  }
}

function incidentFromRow(row: IncidentRow): StoredIncident {
  return {
    id: row.id,
    siteId: row.site_id,
    mountPath: row.mount_path,
    driver: row.driver,
    class: row.class as IncidentClass,
    source: row.source as IncidentSource,
    message: row.message,
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
    site_id: incident.siteId,
    mount_path: incident.mountPath,
    driver: incident.driver,
    class: incident.class,
    source: incident.source,
    message: incident.message,
    opened_at: incident.openedAt,
    changed_at: incident.changedAt,
    closed_at: incident.closedAt,
    acknowledged_at: incident.acknowledgedAt,
    acknowledged_by: incident.acknowledgedBy,
    note: incident.note,
    signals: JSON.stringify(incident.signals),
  };
}

function webhookFromRow(row: WebhookRow): StoredWebhook {
  const { created_at: createdAt, created_by: createdBy, disabled, ...rest } = row;
  return { ...rest, disabled: disabled === 1, createdAt, createdBy };
}

function webhookToRow({ createdAt, createdBy, disabled, ...rest }: StoredWebhook): WebhookRow {
  return { ...rest, disabled: disabled ? 1 : 0, created_at: createdAt, created_by: createdBy };
}

function deliveryFromRow(row: WebhookDeliveryRow): StoredDelivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    incidentId: row.incident_id,
    type: row.type,
    body: row.body,
    createdAt: row.created_at,
    state: row.state as DeliveryState,
    attempts: row.attempts,
    nextTry: row.next_try,
    status: row.status,
    error: textFromColumn(row.error),
  };
}

function deliveryToRow(delivery: StoredDelivery): WebhookDeliveryRow {
  const { webhookId, incidentId, createdAt, nextTry, ...rest } = delivery;
  return {
    ...rest,
    error: textToColumn(rest.error),
    webhook_id: webhookId,
    incident_id: incidentId,
    created_at: createdAt,
    next_try: nextTry,
  };
}
