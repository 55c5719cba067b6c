import { Code } from "@connectrpc/connect";
import { type AuditOrigin, doneEntry } from "../../audit/entry.ts";
import { failedPrecondition, ServiceError } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { IncidentStore, StoredDelivery } from "../store.ts";
import { sendTo } from "./deliver.ts";
import type { Webhook } from "./input.ts";
import type { Send } from "./send.ts";

/** A delivery with the name of its webhook. */
export type NamedDelivery = StoredDelivery & { readonly webhook: string };

export interface SendNowDeps {
  readonly store: Pick<IncidentStore, "changeDelivery">;
  readonly send: Send;
  readonly now: () => number;
}

/** Sends a delivery at once, for a call. @throws FAILED_PRECONDITION; RESOURCE_EXHAUSTED. */
export type SendNow = (
  webhook: Webhook,
  delivery: StoredDelivery,
  origin: AuditOrigin,
) => Promise<NamedDelivery>;

export function createSendNow({ store, send, now }: SendNowDeps): SendNow {
  /** Ids of webhooks with a message in progress: one each, to limit the number of sockets. */
  const sending = new Set<string>();
  return async (webhook, delivery, origin) => {
    const { id, name, disabled } = webhook;
    if (disabled) throw failedPrecondition(message("WEBHOOK_DISABLED", { name }));
    if (sending.has(id))
      throw new ServiceError(Code.ResourceExhausted, message("WEBHOOK_BUSY", { name }));
    sending.add(id);
    const { status, error } = await sendTo(webhook, delivery, { send, now }).finally(() =>
      sending.delete(id),
    );
    const audit = [doneEntry(origin, now(), [name], { delivery: delivery.id, status })];
    const done = await store.changeDelivery(
      delivery,
      (stored) => {
        const tried = { ...stored, attempts: stored.attempts + 1, status, error };
        if (error === "") return { ...tried, state: "delivered", nextTry: 0 };
        // A planned attempt is still made.
        return stored.nextTry === 0 ? { ...tried, state: "failed" } : tried;
      },
      audit,
    );
    return { ...done, webhook: name };
  };
}
