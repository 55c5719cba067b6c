import type { AuditEntry } from "../audit/store.ts";
import type { Text } from "../messages/message.ts";
import type { Incident, Signals } from "./incident.ts";

/** An incident with what the sources report. */
export interface StoredIncident extends Incident {
  readonly signals: Signals;
}

/** Which incidents are read; absent members do not narrow. */
export interface IncidentFilter {
  readonly siteId?: string | undefined;
  readonly mountPath?: string | undefined;
  readonly open?: boolean | undefined;
  /** Incidents that were opened before this one come after it. */
  readonly before?: { readonly openedAt: number; readonly id: string } | undefined;
  readonly limit: number;
}

/** A target of notifications. Times are milliseconds since 1970 UTC. */
export interface StoredWebhook {
  readonly id: string;
  readonly name: string;
  /** Sealed: addresses of chat services hold their key. */
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

/** One notification to one target. Times are milliseconds since 1970 UTC. */
export interface StoredDelivery {
  readonly id: string;
  readonly webhookId: string;
  /** Empty: a test. */
  readonly incidentId: string;
  /** Such as `incident.opened`. */
  readonly type: string;
  /** JSON text as it is signed and sent. */
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

/** Result of adding or changing a webhook. */
export type WebhookPut = "stored" | "taken" | "gone";

/** Keeps incidents, webhooks and deliveries. Rejects with a StoreError only. */
export interface IncidentStore {
  /** Newest first. */
  list(filter: IncidentFilter): Promise<readonly StoredIncident[]>;
  get(id: string): Promise<StoredIncident | undefined>;
  /**
   * Writes incidents and the deliveries that announce them in one transaction. Who acknowledged one that
   * is there already stays as it is.
   */
  write(incidents: readonly StoredIncident[], deliveries: readonly StoredDelivery[]): Promise<void>;
  /** Writes who acknowledged an incident, and nothing else of it: the process that follows sites has the rest. */
  acknowledge(
    incident: Incident,
    deliveries: readonly StoredDelivery[],
    audit: readonly AuditEntry[],
  ): Promise<void>;
  webhooks(): Promise<readonly StoredWebhook[]>;
  /**
   * Adds a webhook, or changes one.
   *
   * @returns `taken` when another webhook has the name; `gone` when the one to change has been deleted.
   */
  putWebhook(
    webhook: StoredWebhook,
    options: { readonly isNew: boolean; readonly audit: readonly AuditEntry[] },
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
  /** The delivery of each webhook that is due first, oldest first. */
  due(now: number): Promise<readonly StoredDelivery[]>;
  putDelivery(delivery: StoredDelivery, audit?: readonly AuditEntry[]): Promise<void>;
  /** Removes closed incidents, and deliveries that are done, from before a time. */
  forget(before: number): Promise<void>;
}
