import type { AuditEntry } from "../../audit/store.ts";
import type { Sealer } from "../../secrets/sealer.ts";
import type { IncidentClass } from "../incident.ts";
import type { IncidentStore, StoredWebhook, WebhookPut } from "../store.ts";
import type { FormatOptions } from "./format/format.ts";
import type { WebhookFormat } from "./format/formats.ts";
import type { Webhook } from "./input.ts";

/** Webhooks of the store in memory, with decrypted secrets. */
export interface WebhookRegistry {
  /** Reads the changes of other processes. */
  load(): Promise<void>;
  /** By name. */
  all(): readonly Webhook[];
  byId(id: string): Webhook | undefined;
  /** Adds a webhook. @returns `taken` when another webhook has the name. */
  add(webhook: Webhook, audit: readonly AuditEntry[]): Promise<WebhookPut>;
  /**
   * Changes a webhook.
   *
   * @returns also `gone` when it was deleted, and `changed` when another call or process has changed it
   *   since it was read.
   */
  update(webhook: Webhook, audit: readonly AuditEntry[]): Promise<WebhookPut>;
  delete(id: string, audit: readonly AuditEntry[]): Promise<void>;
}

export function createWebhookRegistry({
  store,
  sealer,
  onClosed,
}: {
  readonly store: IncidentStore;
  readonly sealer: Sealer;
  /** Called with a webhook whose secrets can't be decrypted; the webhook is skipped. */
  readonly onClosed: (name: string, error: unknown) => void;
}): WebhookRegistry {
  let webhooks = new Map<string, { readonly row: StoredWebhook; readonly open: Webhook }>();
  const closed = new Set<string>();
  const openRow = (row: StoredWebhook): Webhook | undefined => {
    try {
      const { url, secret, options, format, classes, sites, ...rest } = row;
      return Object.freeze({
        ...rest,
        url: sealer.open(keyOf(row.id, "url"), url),
        secret: sealer.open(keyOf(row.id, "secret"), secret),
        format: format as WebhookFormat,
        ...(JSON.parse(sealer.open(keyOf(row.id, "options"), options)) as FormatOptions),
        ...readClasses(classes),
        siteIds: JSON.parse(sites) as string[],
      });
    } catch (error) {
      // Reported once instead of each second.
      if (!closed.has(row.id)) onClosed(row.name, error);
      closed.add(row.id);
      return undefined;
    }
  };
  const registry: WebhookRegistry = {
    load: async () => {
      const rows = await store.webhooks();
      const next: typeof webhooks = new Map();
      for (const row of rows) {
        const known = webhooks.get(row.id);
        const isSame = known !== undefined && JSON.stringify(known.row) === JSON.stringify(row);
        const open = isSame ? known.open : openRow(row);
        if (open !== undefined) next.set(row.id, { row, open });
      }
      webhooks = next;
      for (const { row, open } of next.values())
        if ([row.url, row.secret, row.options].some(sealer.needsReseal))
          await registry.update(open, []);
    },
    all: () => [...webhooks.values()].map(({ open }) => open),
    byId: (id) => webhooks.get(id)?.open,
    add: (webhook, audit) => put(webhook, { before: undefined, audit }),
    update: async (webhook, audit) => {
      const before = webhooks.get(webhook.id)?.row;
      return before === undefined ? "gone" : put(webhook, { before, audit });
    },
    delete: async (id, audit) => {
      await store.deleteWebhook(id, audit);
      webhooks.delete(id);
    },
  };
  return registry;

  async function put(
    webhook: Webhook,
    change: Parameters<IncidentStore["putWebhook"]>[1],
  ): Promise<WebhookPut> {
    const { url, secret, classes, withoutUnknown, siteIds, ...others } = webhook;
    const { token, chat, template, contentType, method, headers, ...rest } = others;
    const options: FormatOptions = { token, chat, template, contentType, method, headers };
    const row: StoredWebhook = {
      ...rest,
      options: sealer.seal(keyOf(webhook.id, "options"), JSON.stringify(options)),
      url: sealer.seal(keyOf(webhook.id, "url"), url),
      secret: sealer.seal(keyOf(webhook.id, "secret"), secret),
      classes: JSON.stringify(withoutUnknown ? [...classes, WITHOUT_UNKNOWN] : classes),
      sites: JSON.stringify(siteIds),
    };
    const result = await store.putWebhook(row, change);
    if (result === "stored") webhooks.set(webhook.id, { row, open: Object.freeze(webhook) });
    return result;
  }
}

/** Entry of the stored classes of a webhook that is not notified of the class `unknown`. */
const WITHOUT_UNKNOWN = "-unknown";

function readClasses(stored: string): Pick<Webhook, "classes" | "withoutUnknown"> {
  const names = JSON.parse(stored) as string[];
  return {
    classes: names.filter((name) => name !== WITHOUT_UNKNOWN) as IncidentClass[],
    withoutUnknown: names.includes(WITHOUT_UNKNOWN),
  };
}

/** Context of a sealed secret, which cannot be decrypted in another one. */
function keyOf(id: string, member: "url" | "secret" | "options"): string {
  return `webhook/${id}/${member}`;
}
