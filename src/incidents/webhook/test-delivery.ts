import type { Translate } from "../../messages/language.ts";
import { message } from "../../messages/message.ts";
import type { StoredDelivery } from "../store.ts";
import type { Webhook } from "./input.ts";

/** Delivery that tests a webhook. It has no incident and is not repeated. */
export function testDelivery(
  { id: webhookId, name }: Pick<Webhook, "id" | "name">,
  {
    id,
    now,
    translate,
  }: { readonly id: string; readonly now: number; readonly translate: Translate },
): StoredDelivery {
  const data = {
    title: message("WEBHOOK_TEST_TITLE", { name }).in(translate),
    text: message("WEBHOOK_TEST_TEXT").in(translate),
    webhook: name,
  };
  return {
    id,
    webhookId,
    incidentId: "",
    type: "test",
    cause: "",
    body: JSON.stringify({ type: "test", timestamp: new Date(now).toISOString(), data }),
    createdAt: now,
    state: "waiting",
    attempts: 0,
    nextTry: 0,
    status: 0,
    error: "",
  };
}
