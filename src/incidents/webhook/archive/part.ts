import {
  type ArchiveEntry,
  chosenOf,
  type EntryResult,
  entryResult,
  type ImportContext,
  type StorePart,
} from "../../../archive/part.ts";
import { doneEntry } from "../../../audit/entry.ts";
import { mapWriteError } from "../../../database/error.ts";
import { message } from "../../../messages/message.ts";
import type { WebhookRegistry } from "../registry.ts";
import { MAX_WEBHOOKS } from "../service.ts";
import { toEntry } from "./entry.ts";
import { planWebhook, type WebhookPlanDeps } from "./plan.ts";

export interface WebhookPartDeps extends WebhookPlanDeps {
  readonly registry: Pick<WebhookRegistry, "load" | "all" | "add" | "update">;
}

/**
 * Webhooks in archives. The address is a secret, because addresses of chat services contain their key;
 * its origin is open. A webhook without its address is created disabled.
 */
export function createWebhookPart(deps: WebhookPartDeps): StorePart {
  const { registry } = deps;
  return {
    kind: "store",
    name: "webhooks",
    exportScope: "webhooks:manage",
    importScopes: ["webhooks:manage"],
    most: MAX_WEBHOOKS,
    export: async ({ grant, names, withSecrets }) => {
      await mapWriteError(registry.load());
      const { nameOf } = deps.siteNames();
      // As for tokens of sites: only the permanent token reads addresses and keys.
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.all(), names)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((webhook) => toEntry(webhook, nameOf, isShown)),
      };
    },
    write: async ({ entries = [] }, context) => {
      await mapWriteError(registry.load());
      const results: EntryResult[] = [];
      let added = 0;
      for (const entry of entries) {
        context.signal?.throwIfAborted();
        const { result, before, webhook } = planWebhook(deps, entry, context, added);
        if (webhook === undefined) results.push(result);
        else if (!context.dryRun) results.push(await store(deps, entry, context));
        else {
          if (before === undefined) added += 1;
          results.push(result);
        }
      }
      return results;
    },
  };
}

/** Writes the webhook of an entry, as it is planned on the stored state. */
async function store(
  deps: WebhookPartDeps,
  entry: ArchiveEntry,
  context: ImportContext,
): Promise<EntryResult> {
  const { registry } = deps;
  const { origin } = context.caller;
  for (;;) {
    context.signal?.throwIfAborted();
    const { result, before, webhook } = planWebhook(deps, entry, context, 0);
    if (webhook === undefined || result.outcome === "unchanged") return result;
    const changed = before === undefined ? ["name", "url", "secret"] : result.differs;
    const audit = [doneEntry(origin, deps.now(), [webhook.name], { changed: [...changed] })];
    const done = await mapWriteError(
      registry[before === undefined ? "add" : "update"](webhook, audit),
    );
    if (done === "stored") {
      context.onStored?.(webhook.name);
      return result;
    }
    await mapWriteError(registry.load());
    // Another call has just added it: it is changed.
    if (done === "taken" && registry.all().every(({ name }) => name !== entry.name))
      return entryResult(entry.name, "skipped", {
        note: message("WEBHOOK_EXISTS", { name: entry.name }),
      });
    // Another call has changed or deleted it meanwhile: it is planned again.
  }
}
