import { Code } from "@connectrpc/connect";
import { type AuditOrigin, doneEntry } from "../../audit/entry.ts";
import { contentEtag } from "../../content-etag.ts";
import { failedPrecondition, notFound, ServiceError } from "../../messages/error.ts";
import type { Language, Translate } from "../../messages/language.ts";
import { checkManaged } from "../../messages/managed.ts";
import { message } from "../../messages/message.ts";
import { didYouMean } from "../../messages/nearest.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { IncidentStore } from "../store.ts";
import {
  changedMembers,
  newWebhook,
  type Webhook,
  type WebhookInput,
  withWebhookInput,
} from "./input.ts";
import type { WebhookRegistry } from "./registry.ts";
import type { Send } from "./send.ts";
import { createSendNow, type NamedDelivery } from "./send-now.ts";
import { testDelivery } from "./test-delivery.ts";

/** Maximum number of webhooks. */
export const MAX_WEBHOOKS = 20;

export interface WebhookServiceDeps {
  readonly store: IncidentStore;
  readonly registry: WebhookRegistry;
  readonly send: Send;
  /** File that declares a webhook; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  /** Names of sites, with those that another process has just created. */
  readonly readSites: () => Promise<SiteNames>;
  readonly now: () => number;
  readonly newId: () => string;
  readonly translations: (language: Language) => Translate;
}

/** Rules of webhooks. Every method first reads the changes of other processes. */
export interface WebhookService {
  list(): Promise<readonly Webhook[]>;
  /** @throws INVALID_ARGUMENT; ALREADY_EXISTS; FAILED_PRECONDITION beyond 20. */
  create(input: WebhookInput, origin: AuditOrigin): Promise<Webhook>;
  /** Etag of the members of a webhook, without secrets. */
  etagOf(webhook: Webhook): string;
  /** @throws INVALID_ARGUMENT; NOT_FOUND; ALREADY_EXISTS; ABORTED for another etag; FAILED_PRECONDITION if a file declares it. */
  update(
    name: string,
    input: WebhookInput,
    origin: AuditOrigin,
    options?: {
      /** Whether the caller may read address and key. Default: true. */
      readonly reveals?: boolean;
      /** Etag that the webhook must have. Undefined: any. */
      readonly expectedEtag?: string | undefined;
    },
  ): Promise<Webhook>;
  /** @throws NOT_FOUND; FAILED_PRECONDITION if a file declares it. */
  delete(name: string, origin: AuditOrigin): Promise<void>;
  /** Sends a test now, once. @throws NOT_FOUND; FAILED_PRECONDITION; RESOURCE_EXHAUSTED during another one. */
  test(name: string, origin: AuditOrigin): Promise<NamedDelivery>;
  /** Newest first. @throws NOT_FOUND. */
  deliveries(
    name: string,
    limit: number,
    before?: { readonly createdAt: number; readonly id: string },
  ): Promise<readonly NamedDelivery[]>;
  /** Repeats a delivery at once. @throws as test. */
  resend(id: string, origin: AuditOrigin): Promise<NamedDelivery>;
}

function etagOf({ url, secret: _, token, headers, ...shown }: Webhook): string {
  const masked = { host: new URL(url).host, hasToken: token !== "", headers: Object.keys(headers) };
  return contentEtag({ ...shown, ...masked });
}

/** An empty key leaves the one of the webhook: a new webhook has a random one. */
function withoutEmptyKey(input: WebhookInput): WebhookInput {
  const { secret, ...rest } = input;
  return secret === "" ? rest : input;
}

export function createWebhookService(deps: WebhookServiceDeps): WebhookService {
  const { store, registry, now } = deps;
  const notKnown = (name: string): ServiceError => {
    const names = registry.all().map((each) => each.name);
    return notFound(
      message("WEBHOOK_NOT_FOUND", { name: name.slice(0, 64), hint: didYouMean(name, names) }),
    );
  };
  const get = async (name: string): Promise<Webhook> => {
    await registry.load();
    const found = registry.all().find((each) => each.name === name);
    if (found !== undefined) return found;
    throw notKnown(name);
  };
  /** @returns the stored webhook; undefined when it has changed since it was read. */
  const put = async (
    how: "add" | "update",
    webhook: Webhook,
    origin: AuditOrigin,
    changed: readonly string[],
  ): Promise<Webhook | undefined> => {
    const entry = doneEntry(origin, now(), [webhook.name], { changed: [...changed] });
    const result = await registry[how](webhook, [entry]);
    if (result === "stored") return webhook;
    if (result === "changed") return undefined;
    if (result === "gone") throw notKnown(webhook.name);
    throw new ServiceError(Code.AlreadyExists, message("WEBHOOK_EXISTS", { name: webhook.name }));
  };
  const sendNow = createSendNow(deps);
  const service: WebhookService = {
    list: async () => {
      await registry.load();
      return registry.all();
    },
    create: async (input, origin) => {
      await registry.load();
      if (registry.all().length >= MAX_WEBHOOKS)
        throw failedPrecondition(message("TOO_MANY_WEBHOOKS", { most: MAX_WEBHOOKS }));
      const empty = newWebhook(deps.newId(), now(), origin.actor);
      const webhook = withWebhookInput(empty, withoutEmptyKey(input), await deps.readSites());
      await put("add", webhook, origin, ["name", "url", "secret"]);
      return webhook;
    },
    etagOf,
    update: async (name, input, origin, { reveals = true, expectedEtag } = {}) => {
      const before = await get(name);
      checkManaged(name, deps.declaredBy(name));
      if (expectedEtag !== undefined && expectedEtag !== etagOf(before))
        throw new ServiceError(
          Code.Aborted,
          message("WEBHOOK_CHANGED", { name, expected: expectedEtag.slice(0, 60) }),
        );
      const given = withoutEmptyKey(input);
      const after = withWebhookInput(before, given, await deps.readSites());
      const changed = changedMembers(before, after, { input: given, reveals });
      if (changed.length === 0) return before;
      return (
        (await put("update", after, origin, changed)) ??
        service.update(name, input, origin, { reveals, expectedEtag })
      );
    },
    delete: async (name, origin) => {
      const { id } = await get(name);
      checkManaged(name, deps.declaredBy(name));
      await registry.delete(id, [doneEntry(origin, now(), [name], {})]);
    },
    test: async (name, origin) => {
      const webhook = await get(name);
      const translate = deps.translations(webhook.language as Language);
      const delivery = testDelivery(webhook, { id: deps.newId(), now: now(), translate });
      return sendNow(webhook, delivery, origin);
    },
    deliveries: async (name, limit, before) => {
      const webhook = await get(name);
      const found = await store.deliveries(webhook.id, limit, before);
      return found.map((each) => ({ ...each, webhook: name }));
    },
    resend: async (id, origin) => {
      await registry.load();
      const delivery = await store.delivery(id);
      const webhook = delivery && registry.byId(delivery.webhookId);
      if (delivery === undefined || webhook === undefined)
        throw notFound(message("DELIVERY_NOT_FOUND", { id: id.slice(0, 64) }));
      return sendNow(webhook, delivery, origin);
    },
  };
  return service;
}
