import type { Transaction } from "kysely";
import { unlessTaken } from "../../database/error.ts";
import type { LockRows } from "../../database/row-lock.ts";
import type { Database, WebhookRow } from "../../database/schema.ts";
import type { IncidentStore, StoredWebhook, WebhookPut } from "../store.ts";
import type { IncidentTables } from "../tables-query.ts";

/** Reads and writes webhooks. */
export function webhookQueries({
  db,
  attempt,
  writing,
  append,
  lockRows,
}: IncidentTables): Pick<IncidentStore, "webhooks" | "putWebhook" | "deleteWebhook"> {
  return {
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
              return (await lockWebhooks(trx, [id], lockRows)).size === 0 ? "gone" : "changed";
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
  };
}

/**
 * Those of the webhooks that exist. All transactions with deliveries lock these rows first, in one
 * order: a deletion finds what they write, and results of attempts are stored one after the other.
 */
export async function lockWebhooks(
  trx: Transaction<Database>,
  ids: readonly string[],
  lockRows: LockRows,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await lockRows(
    trx.selectFrom("webhook").select("id").where("id", "in", ids).orderBy("id"),
  ).execute();
  return new Set(rows.map(({ id }) => id));
}

function webhookFromRow(row: WebhookRow): StoredWebhook {
  const { created_at: createdAt, created_by: createdBy, disabled, ...rest } = row;
  return { ...rest, disabled: disabled === 1, createdAt, createdBy };
}

function webhookToRow({ createdAt, createdBy, disabled, ...rest }: StoredWebhook): WebhookRow {
  return { ...rest, disabled: disabled ? 1 : 0, created_at: createdAt, created_by: createdBy };
}
