import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Language, Translate } from "../../messages/language.ts";
import type { Sealer } from "../../secrets/sealer.ts";
import { readSiteNames, type SiteRegistry } from "../../sites/registry.ts";
import type { Incident, IncidentPlace } from "../incident.ts";
import type { IncidentStore, StoredDelivery } from "../store.ts";
import { type Announcer, createAnnounce } from "./announce.ts";
import { createDeliverer, type Deliverer } from "./deliver.ts";
import { disableGone } from "./disable.ts";
import { createWebhookRegistry, type WebhookRegistry } from "./registry.ts";
import { type Send, sendOnce } from "./send.ts";
import { createWebhookService, type WebhookService } from "./service.ts";

export interface WebhooksDeps {
  readonly store: IncidentStore;
  readonly sites: Pick<SiteRegistry, "names" | "load">;
  readonly sealer: Sealer;
  /** File that declares a webhook; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly translations: (language: Language) => Translate;
  readonly placeOf: (incident: Incident) => IncidentPlace;
  /** Whether messages may be sent to addresses that are not public. */
  readonly allowPrivate: boolean;
  readonly now: () => number;
  readonly random: () => number;
  readonly newId: () => string;
  readonly events: WebhookEvents;
  /** Other pauses between attempts, in milliseconds. */
  readonly pauses?: readonly number[] | undefined;
  /** Other time for which notifications of one cause are collected, in milliseconds. */
  readonly digest?: number | undefined;
}

/** Events of webhooks, for the log of the service. */
export interface WebhookEvents {
  /** Called after a webhook was disabled because its target is gone. */
  readonly onDisabled: (webhook: string) => void;
  /** Called after each attempt of a delivery. */
  readonly onAttempt: (webhook: string, delivery: StoredDelivery) => void;
  readonly onError: (error: unknown) => void;
}

/** Webhooks, and the notifications that are sent to them. */
export interface Webhooks extends Announcer {
  readonly registry: WebhookRegistry;
  readonly service: WebhookService;
  readonly deliverer: Deliverer;
}

/** Reads the webhooks. Nothing is sent before the deliverer runs. */
export async function openWebhooks(deps: WebhooksDeps): Promise<Webhooks> {
  const { store, events, now, random, newId, translations } = deps;
  const registry = createWebhookRegistry({
    store,
    sealer: deps.sealer,
    onClosed: (name, error) => events.onError(new Error(`webhook ${name}`, { cause: error })),
  });
  await registry.load();
  const announcer = createAnnounce({
    translations,
    webhooks: registry.all,
    placeOf: deps.placeOf,
    driverOf: deps.driverOf,
    now,
    newId,
    digestWindow: deps.digest,
  });
  const send: Send = (request, reply) =>
    sendOnce(request, { ...reply, allowPrivate: deps.allowPrivate });
  const deliverer = createDeliverer({
    store,
    send,
    now,
    random,
    webhook: registry.byId,
    disable: disableGone({ registry, now, onDisabled: events.onDisabled }),
    onAttempt: (delivery) =>
      events.onAttempt(registry.byId(delivery.webhookId)?.name ?? "", delivery),
    pauses: deps.pauses,
  });
  const service = createWebhookService({
    store,
    registry,
    send,
    declaredBy: deps.declaredBy,
    now,
    newId,
    translations,
    readSites: () => readSiteNames(deps.sites),
  });
  return { ...announcer, registry, service, deliverer };
}
