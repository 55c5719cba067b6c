import { createDriverTranslation, type DriverInfo } from "../../drivers/driver-info.ts";
import type { Language, Translate } from "../../messages/language.ts";
import { message } from "../../messages/message.ts";
import { type Incident, type IncidentEvent, itemsToReplace, remedyOf } from "../incident.ts";
import type { IncidentStore, StoredDelivery } from "../store.ts";
import { type Webhook, wantsClass } from "./input.ts";
import { type Send, signedHeaders } from "./send.ts";

/** Pauses before the second and later attempts, in milliseconds (Standard Webhooks 1.0). */
const PAUSES = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
  (seconds) => seconds * 1_000,
);
/** Longest extension of a pause, as a share of it. */
const SPREAD = 0.1;
/** Maximum number of concurrent attempts; each webhook has at most one. */
const MAX_RUNNING = 4;

/** Webhook with decrypted secrets. */
export interface OpenWebhook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly disabled: boolean;
}

export interface DelivererDeps {
  readonly store: Pick<IncidentStore, "due" | "changeDelivery">;
  readonly webhook: (id: string) => OpenWebhook | undefined;
  readonly send: Send;
  readonly now: () => number;
  readonly random: () => number;
  /** Disables a webhook whose target has answered 410 Gone. */
  readonly disable: (id: string) => Promise<void>;
  /** Called after each attempt. */
  readonly onAttempt: (delivery: StoredDelivery) => void;
  readonly pauses?: readonly number[];
}

/** Sender of due deliveries. */
export interface Deliverer {
  /** Starts due deliveries, one per webhook and four in total at a time; resolves when they are done. */
  run(): Promise<void>;
}

export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { store, now, pauses = PAUSES } = deps;
  /** Longest pause after each number of attempts. */
  const longest = [0, ...pauses.map((pause) => Math.ceil(pause * (1 + SPREAD)))];
  const running = new Set<string>();
  const sendOne = async (delivery: StoredDelivery, webhook: OpenWebhook): Promise<void> => {
    const { id, body } = delivery;
    const headers = signedHeaders(webhook.secret, { id, time: now(), body });
    const { status, error } = await deps.send(webhook.url, body, headers);
    const done = await store.changeDelivery(delivery, (stored) => {
      const attempts = stored.attempts + 1;
      // A resent message was accepted, or given up, during this attempt.
      if (error !== "" && stored.state !== "waiting") return { ...stored, attempts };
      const pause = status === 410 ? undefined : pauses[attempts - 1];
      return {
        ...stored,
        attempts,
        status,
        error,
        ...(error === ""
          ? { state: "delivered", nextTry: 0 }
          : pause === undefined
            ? { state: "failed", nextTry: 0 }
            : // Up to a tenth longer, at random, so that retries to a recovered target are spread.
              { nextTry: now() + Math.round(pause * (1 + deps.random() * SPREAD)) }),
      };
    });
    if (status === 410) await deps.disable(webhook.id);
    deps.onAttempt(done);
  };
  return {
    run: async () => {
      const due = await store.due(now(), longest);
      const begun: Promise<void>[] = [];
      for (const delivery of due) {
        const webhook = deps.webhook(delivery.webhookId);
        if (webhook === undefined || running.has(webhook.id)) continue;
        if (webhook.disabled) {
          const error = message("DELIVERY_WEBHOOK_DISABLED");
          await store.changeDelivery(delivery, (stored) =>
            stored.state === "waiting" ? { ...stored, state: "failed", nextTry: 0, error } : stored,
          );
          continue;
        }
        if (running.size >= MAX_RUNNING) break;
        running.add(webhook.id);
        begun.push(sendOne(delivery, webhook).finally(() => running.delete(webhook.id)));
      }
      await Promise.all(begun);
    },
  };
}

export interface AnnounceDeps {
  readonly webhooks: () => readonly Webhook[];
  readonly siteName: (siteId: string) => string;
  readonly mountAt: (siteId: string, path: string) => string | undefined;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly translations: (language: Language) => Translate;
  readonly now: () => number;
  readonly newId: () => string;
}

/** Creates the notifications of a change: one for each enabled webhook whose filters match. */
export function createAnnounce(deps: AnnounceDeps) {
  const driverIn = (language: Language, name: string): DriverInfo | undefined => {
    const driver = deps.driverOf(name);
    if (driver === undefined || language === "en") return driver;
    return createDriverTranslation(deps.translations(language))(driver);
  };
  const textOf = (event: IncidentEvent, incident: Incident, language: Language): string => {
    const time = (ms: number): string | undefined =>
      ms === 0 ? undefined : new Date(ms).toISOString();
    const driver = driverIn(language, incident.driver);
    const data = {
      id: incident.id,
      site: deps.siteName(incident.siteId),
      mount_path: incident.mountPath,
      driver: incident.driver,
      class: incident.class,
      source: incident.source,
      message: incident.message,
      action: remedyOf(incident.class, {
        site: deps.siteName(incident.siteId),
        mount: deps.mountAt(incident.siteId, incident.mountPath),
      }).in(deps.translations(language)),
      items: itemsToReplace(incident.class, driver).map(({ name, label, description }) => ({
        name,
        label,
        description,
      })),
      ...(driver !== undefined && driver.guide !== "" && { guide: driver.guide }),
      open_time: time(incident.openedAt),
      change_time: time(incident.changedAt),
      close_time: time(incident.closedAt),
      acknowledge_time: time(incident.acknowledgedAt),
      ...(incident.acknowledgedAt > 0 && {
        acknowledged_by: incident.acknowledgedBy,
        note: incident.note,
      }),
    };
    const timestamp = new Date(deps.now()).toISOString();
    return JSON.stringify({ type: `incident.${event}`, timestamp, data });
  };
  return (event: IncidentEvent, incident: Incident): StoredDelivery[] => {
    return deps
      .webhooks()
      .filter(
        ({ disabled, siteIds, ...webhook }) =>
          !disabled &&
          wantsClass(webhook, incident.class) &&
          (siteIds.length === 0 || siteIds.includes(incident.siteId)),
      )
      .map(({ id: webhookId, language }) => ({
        id: deps.newId(),
        webhookId,
        incidentId: incident.id,
        type: `incident.${event}`,
        body: textOf(event, incident, language as Language),
        createdAt: deps.now(),
        nextTry: deps.now(),
        attempts: 0,
        status: 0,
        error: "",
        state: "waiting",
      }));
  };
}
