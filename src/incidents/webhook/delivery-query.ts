import { sql, type Transaction } from "kysely";
import type { LockRows } from "../../database/row-lock.ts";
import type { Database, WebhookDeliveryRow } from "../../database/schema.ts";
import { textFromColumn, textToColumn } from "../../messages/message.ts";
import type { DeliveryState, IncidentStore, JoinDeliveries, StoredDelivery } from "../store.ts";
import type { IncidentTables } from "../tables-query.ts";
import { lockWebhooks } from "./query.ts";

/** Maximum number of kept deliveries per webhook. */
const MAX_DELIVERIES = 1_000;

/** Reads and writes deliveries of notifications. */
export function deliveryQueries({
  db,
  attempt,
  writing,
  append,
  lockRows,
}: IncidentTables): Pick<IncidentStore, "deliveries" | "delivery" | "due" | "changeDelivery"> {
  return {
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
        if ((await lockWebhooks(trx, [delivery.webhookId], lockRows)).size === 0)
          return change(delivery);
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
  };
}

/** Adds deliveries to webhooks that exist. */
export async function addDeliveries(
  trx: Transaction<Database>,
  deliveries: readonly StoredDelivery[],
  {
    lockRows,
    join = () => undefined,
  }: { readonly lockRows: LockRows; readonly join?: JoinDeliveries | undefined },
): Promise<void> {
  const ids = [...new Set(deliveries.map(({ webhookId }) => webhookId))];
  const known = await lockWebhooks(trx, ids, lockRows);
  for (const delivery of deliveries) {
    if (!known.has(delivery.webhookId)) continue;
    const waiting = await waitingWith(trx, delivery);
    const joined = waiting && join(waiting, delivery);
    if (joined === undefined) {
      await trx.insertInto("webhook_delivery").values(deliveryToRow(delivery)).execute();
      continue;
    }
    const { id, ...rest } = deliveryToRow(joined);
    await trx.updateTable("webhook_delivery").set(rest).where("id", "=", id).execute();
  }
}

/** The newest unsent delivery of the same webhook and cause. */
async function waitingWith(
  trx: Transaction<Database>,
  { webhookId, cause }: StoredDelivery,
): Promise<StoredDelivery | undefined> {
  if (cause === "") return undefined;
  const row = await trx
    .selectFrom("webhook_delivery")
    .selectAll()
    .where("webhook_id", "=", webhookId)
    .where("state", "=", "waiting")
    .where("attempts", "=", 0)
    .where("cause", "=", cause)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && deliveryFromRow(row);
}

/** Deletes finished deliveries from before a time, and the oldest above the maximum number. */
export async function forgetDeliveries(trx: Transaction<Database>, before: number): Promise<void> {
  await trx
    .deleteFrom("webhook_delivery")
    .where("state", "!=", "waiting")
    .where("created_at", "<", before)
    .execute();
  await trimDeliveries(trx);
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

function deliveryFromRow(row: WebhookDeliveryRow): StoredDelivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    incidentId: row.incident_id,
    type: row.type,
    cause: row.cause,
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
