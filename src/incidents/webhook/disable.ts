import { doneEntry } from "../../audit/entry.ts";
import type { WebhookRegistry } from "./registry.ts";

/** Origin of changes by the sender of notifications. */
const SENDER = { actor: "webhooks", transport: "", method: "deliver", peer: "", requestId: "" };

export interface DisableDeps {
  readonly registry: Pick<WebhookRegistry, "load" | "byId" | "update">;
  readonly now: () => number;
  /** Called after a webhook was disabled, with its name. */
  readonly onDisabled: (webhook: string) => void;
}

/** Disables a webhook whose target has answered 410 Gone. */
export function disableGone({
  registry,
  now,
  onDisabled,
}: DisableDeps): (id: string) => Promise<void> {
  return async (id) => {
    // Another process may have changed or deleted the webhook.
    await registry.load();
    const webhook = registry.byId(id);
    if (webhook === undefined || webhook.disabled) return;
    const detail = { changed: ["disabled"], reason: "the target answered 410 Gone" };
    const entry = doneEntry(SENDER, now(), [webhook.name], detail);
    const result = await registry.update({ ...webhook, disabled: true }, [entry]);
    if (result === "stored") onDisabled(webhook.name);
  };
}
