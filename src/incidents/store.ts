import type { AuditEntry } from "../audit/store.ts";
import type { Text } from "../messages/message.ts";
import type { DayStore } from "./days/store.ts";
import type { Incident, IncidentSubject, Signals } from "./incident.ts";

/** Incident with the reports of its sources. */
export interface StoredIncident extends Incident {
  readonly signals: Signals;
}

/** Filter for incidents; absent members match all. */
export interface IncidentFilter {
  readonly ids?: readonly string[] | undefined;
  readonly subject?: IncidentSubject | undefined;
  readonly name?: string | undefined;
  readonly siteId?: string | undefined;
  readonly mountPath?: string | undefined;
  readonly open?: boolean | undefined;
  /** Only incidents that were open in this period, in milliseconds since 1970 UTC. */
  readonly during?: { readonly from: number; readonly to: number } | undefined;
  /** Only incidents that were opened before this one. */
  readonly before?: { readonly openedAt: number; readonly id: string } | undefined;
  readonly limit: number;
}

/** Target of notifications. Times are milliseconds since 1970 UTC. */
export interface StoredWebhook {
  readonly id: string;
  readonly name: string;
  readonly format: string;
  /** Sealed JSON: the options of the format. */
  readonly options: string;
  /** Sealed: addresses of chat services contain their key. */
  readonly url: string;
  /** Sealed. The key of the signature, as `whsec_` and base64. */
  readonly secret: string;
  /** JSON arrays; empty: all. */
  readonly classes: string;
  readonly sites: string;
  readonly language: string;
  readonly disabled: boolean;
  readonly createdAt: number;
  readonly createdBy: string;
}

export type DeliveryState = "waiting" | "delivered" | "failed";

/** Notification to a target. Times are milliseconds since 1970 UTC. */
export interface StoredDelivery {
  readonly id: string;
  readonly webhookId: string;
  /** Empty: a test. */
  readonly incidentId: string;
  /** Such as `incident.opened`. */
  readonly type: string;
  /**
   * Notifications of one cause within a few seconds are sent as one. Empty: it is sent alone.
   */
  readonly cause: string;
  /** Event as JSON text, from which the format of the webhook makes the sent text. */
  readonly body: string;
  readonly createdAt: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** 0 unless it is waiting. */
  readonly nextTry: number;
  /** HTTP status of the last attempt; 0: no reply. */
  readonly status: number;
  /** Error of the last attempt; empty: none. */
  readonly error: Text;
}

/**
 * Adds a notification to one of the same webhook and cause that is not sent yet.
 *
 * @returns undefined: `waiting` is being sent, so that `added` is sent by itself.
 */
export type JoinDeliveries = (
  waiting: StoredDelivery,
  added: StoredDelivery,
) => StoredDelivery | undefined;

/** Result of adding or changing a webhook. */
export type WebhookPut = "stored" | "taken" | "gone" | "changed";

/** Keeps incidents, webhooks and deliveries. Rejects with a StoreError only. */
export interface IncidentStore {
  /** Last days of sites and mounts. */
  readonly days: DayStore;
  /** Newest first. */
  list(filter: IncidentFilter): Promise<readonly StoredIncident[]>;
  get(id: string): Promise<StoredIncident | undefined>;
  /**
   * Writes incidents and their notifications in one transaction. The acknowledgement of an existing
   * incident is not changed; notifications of deleted webhooks are not written.
   */
  write(
    incidents: readonly StoredIncident[],
    deliveries: readonly StoredDelivery[],
    join?: JoinDeliveries,
  ): Promise<void>;
  /**
   * Writes only the acknowledgement of an incident: the process that follows sites writes the other
   * members.
   *
   * @returns false, and writes nothing, when the incident has changed or was closed since
   *   `incident` was read.
   */
  acknowledge(
    incident: Incident,
    deliveries: readonly StoredDelivery[],
    audit: readonly AuditEntry[],
  ): Promise<boolean>;
  webhooks(): Promise<readonly StoredWebhook[]>;
  /**
   * Adds or changes a webhook.
   *
   * @param options.before the row that was read; undefined: the webhook is new.
   * @returns `taken` when another webhook has the name; `gone` when the webhook was deleted; `changed`
   *   when it is no longer `before`.
   */
  putWebhook(
    webhook: StoredWebhook,
    options: { readonly before: StoredWebhook | undefined; readonly audit: readonly AuditEntry[] },
  ): Promise<WebhookPut>;
  /** With its deliveries. */
  deleteWebhook(id: string, audit: readonly AuditEntry[]): Promise<void>;
  /** Newest first. */
  deliveries(
    webhookId: string,
    limit: number,
    before?: { readonly createdAt: number; readonly id: string },
  ): Promise<readonly StoredDelivery[]>;
  delivery(id: string): Promise<StoredDelivery | undefined>;
  /**
   * First due delivery of each webhook, oldest first.
   *
   * @param longest longest pause in milliseconds after 0, 1, 2, … attempts: a later time was stored
   *   while the clock was ahead, and counts as due.
   */
  due(now: number, longest: readonly number[]): Promise<readonly StoredDelivery[]>;
  /**
   * Changes a delivery, or adds it. Nothing is written when its webhook was deleted.
   *
   * @param delivery the delivery that was read; another call or process may have changed it since.
   * @param change returns the changed delivery, from the stored one if there is one.
   * @returns the changed delivery.
   */
  changeDelivery(
    delivery: StoredDelivery,
    change: (stored: StoredDelivery) => StoredDelivery,
    audit?: readonly AuditEntry[],
  ): Promise<StoredDelivery>;
  /** Deletes closed incidents and completed deliveries from before a time. */
  forget(before: number): Promise<void>;
}
