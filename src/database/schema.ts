import type { Generated, Selectable } from "kysely";

/**
 * Columns of a table whose rows PostgreSQL writes as arrays, in the order in which they are written,
 * with their types there.
 */
type Columns<Table> = Readonly<Record<keyof Table & string, "text" | "int" | "bigint">>;

/** Record of any kind. */
interface RecordTable {
  kind: string;
  key: string;
  /** Open part; null: the record has secret parts only. */
  body: string | null;
  /** Short text that describes the record without its content. */
  attributes: string;
  /** JSON: secret parts by their names, each sealed by itself; null: none. */
  secrets: string | null;
  /** Place among records that are shown in the order in which they were added; 0: none. */
  position: number;
  /** The revision that wrote this row last. */
  revision: number;
}

export const recordColumns: Columns<RecordTable> = {
  kind: "text",
  key: "text",
  body: "text",
  attributes: "text",
  secrets: "text",
  position: "int",
  revision: "bigint",
};

/** Committed change of records: time, actor and transport. */
interface RevisionTable {
  revision: number;
  /** Milliseconds since 1970 UTC. */
  time: number;
  actor: string;
  transport: string;
  method: string;
  request_id: string;
  peer: string;
  reason: string;
  /** Random text, which distinguishes this commit from others with the same number. */
  mark: string;
}

export const revisionColumns: Columns<RevisionTable> = {
  revision: "bigint",
  time: "bigint",
  actor: "text",
  transport: "text",
  method: "text",
  request_id: "text",
  peer: "text",
  reason: "text",
  mark: "text",
};

/**
 * Change of one record in a revision. A body is null if the record did not exist or has secret parts
 * only; attributes are null if the kind keeps none for the record. Keyed hashes replace secret parts.
 */
interface ChangeTable {
  revision: number;
  kind: string;
  key: string;
  old_body: string | null;
  new_body: string | null;
  old_attributes: string | null;
  new_attributes: string | null;
  /** JSON: hashes by the names of secret parts; null: none. */
  old_hashes: string | null;
  new_hashes: string | null;
}

export const changeColumns: Columns<ChangeTable> = {
  revision: "bigint",
  kind: "text",
  key: "text",
  old_body: "text",
  new_body: "text",
  old_attributes: "text",
  new_attributes: "text",
  old_hashes: "text",
  new_hashes: "text",
};

/** Properties of the database itself, such as its random id. */
interface MetaTable {
  name: string;
  value: string;
}

/** Owner of tokens. */
interface PrincipalTable {
  id: string;
  name: string;
  kind: string;
  /** Milliseconds since 1970 UTC, as all times here. */
  created_at: number;
  created_by: string;
  disabled_at: number | null;
  /** Version in `access_head` of the change that wrote the row last, as in `access_token`. */
  version: number;
}

/** Token, without its text; a hash of its secret is stored. */
interface AccessTokenTable {
  id: string;
  principal_id: string;
  /** SHA-256 of the secret in base64url. */
  hash: string;
  /** JSON arrays. */
  scopes: string;
  limits: string;
  comment: string;
  created_at: number;
  created_by: string;
  expires_at: number | null;
  /** End of a token that was rotated, in milliseconds since 1970 UTC; null: it was not. */
  not_after: number | null;
  replaced_by: string | null;
  revoked_at: number | null;
  revoked_by: string | null;
  /**
   * Time at which its end was first observed, in milliseconds counted while the service ran; null:
   * not ended as of the last check. `Generated`: inserts leave it out.
   */
  ended_at: Generated<number | null>;
  version: number;
}

/**
 * Last use of a token. A separate table: it is written often, and other processes are not notified.
 */
interface TokenUseTable {
  token_id: string;
  time: number;
  peer: string;
}

/** One row: the version of the other access tables, which increases with each change. */
interface AccessHeadTable {
  id: number;
  version: number;
}

/**
 * Site. Booleans are 0 or 1. `token` and `overrides` are sealed if the service has a key; `address` is
 * the canonical form of `url`, unique.
 */
interface SiteTable {
  id: string;
  name: string;
  url: string;
  address: string;
  token: string;
  ca: string;
  pin: string;
  mode: string;
  include: string;
  exclude: string;
  overrides: string;
  paused: number;
  /** Start of the import that has paused the site, in milliseconds since 1970 UTC; 0: none. */
  restoring: number;
  upstream: number;
  /** Milliseconds since 1970 UTC. */
  created: number;
}

/** State of a site's settings, as JSON. */
export interface SiteStateTable {
  site_id: string;
  /** Grows by one with each write. */
  version: number;
  applied_revision: number;
  state: string;
}

/** Action on a site. */
interface SiteLogTable {
  site_id: string;
  seq: number;
  time: number;
  actor: string;
  action: string;
  revision: number;
  /** JSON array. */
  keys: string;
  result: string;
}

/** State of a record on a site, as JSON. Empty name: common state of all records of the kind. */
interface RecordStateTable {
  site_id: string;
  /** `mount` or `rule`. */
  kind: string;
  name: string;
  state: string;
}

/** Lease, or slot of a job that one process runs at a time. */
interface LeaseTable {
  name: string;
  holder: string;
  /** Milliseconds since 1970 UTC. */
  expires: number;
}

/** Action or refusal. Rows are appended, and deleted from the oldest on. */
interface AuditTable {
  /** From 1 on, without gaps. */
  seq: number;
  /** Milliseconds since 1970 UTC. */
  time: number;
  actor: string;
  token_id: string;
  transport: string;
  method: string;
  peer: string;
  request_id: string;
  outcome: string;
  /** Names, separated by line feeds. */
  subject: string;
  /** A JSON object. */
  detail: string;
  /** SHA-256 of the row before, in hexadecimal. */
  prev: string;
  /** SHA-256 of this row with `prev`, in hexadecimal. */
  hash: string;
}

/**
 * One row: the newest row of the audit. Instances lock it to append; SQLite does not need it.
 */
interface AuditHeadTable {
  id: number;
  seq: number;
  hash: string;
}

/**
 * Incident: a mount, a site, a token or a backup target that fails or failed. Times are milliseconds
 * since 1970 UTC.
 */
interface IncidentTable {
  id: string;
  /** `mount`, `site`, `token` or `backup`. */
  subject: string;
  /** Id of a token, or name of a backup target; else empty. */
  name: string;
  site_id: string;
  mount_path: string;
  driver: string;
  class: string;
  source: string;
  message: string;
  opened_at: number;
  changed_at: number;
  /** 0: it is open. */
  closed_at: number;
  /** 0: not acknowledged. */
  acknowledged_at: number;
  acknowledged_by: string;
  note: string;
  /** JSON: what each source reports. */
  signals: string;
}

/** A target of notifications. */
interface WebhookTable {
  id: string;
  name: string;
  format: string;
  /** Sealed JSON. */
  options: string;
  /** Sealed. */
  url: string;
  /** Sealed. */
  secret: string;
  /** JSON array of classes of incidents, as that of sites in `sites`; empty: all. */
  classes: string;
  sites: string;
  language: string;
  disabled: number;
  created_at: number;
  created_by: string;
}

/** Notification to one target. */
interface WebhookDeliveryTable {
  id: string;
  webhook_id: string;
  incident_id: string;
  type: string;
  /** Incidents with one cause are sent together; empty: the incident is sent alone. */
  cause: string;
  body: string;
  created_at: number;
  state: string;
  attempts: number;
  next_try: number;
  status: number;
  error: string;
}

/** A site on one day in UTC. Absent: the site was not monitored. */
interface SiteDayTable {
  site_id: string;
  /** Days since 1970-01-01. */
  day: number;
  /** Milliseconds in which it could be read. */
  worked: number;
  failed: number;
  /** End of the counted time, in milliseconds since 1970 UTC. */
  counted_to: number;
  /** First failure of the day. */
  reason: string;
}

/**
 * Present state of a mount in the list of a site. Its times are on the site's clock of a day: the
 * `worked` of `site_day` at that moment.
 */
interface MountSpanTable {
  site_id: string;
  path: string;
  /** Day on which it was first listed. */
  first_day: number;
  /** Time at which it was first listed, on the clock of `first_day`. */
  first_at: number;
  /** `works`, `fails`, `unmonitored` (such as disabled) or `gone` (no longer listed). */
  state: string;
  /** Day on which the state began. */
  day: number;
  /** Time at which it began, on the clock of `day`. */
  began: number;
  /** Failure; empty unless it fails. */
  reason: string;
}

/** Failed and unmonitored time of a mount on one day, without its present state. Absent: it worked. */
interface MountDayTable {
  site_id: string;
  path: string;
  day: number;
  /** Milliseconds of the site's clock. */
  failed: number;
  /** Milliseconds of the site's clock in which the mount was disabled or absent. */
  unmonitored: number;
  /** First failure of the day. */
  reason: string;
}

export interface Database {
  record: RecordTable;
  revision: RevisionTable;
  change: ChangeTable;
  meta: MetaTable;
  principal: PrincipalTable;
  access_token: AccessTokenTable;
  token_use: TokenUseTable;
  access_head: AccessHeadTable;
  audit: AuditTable;
  audit_head: AuditHeadTable;
  site: SiteTable;
  site_state: SiteStateTable;
  site_log: SiteLogTable;
  lease: LeaseTable;
  record_state: RecordStateTable;
  incident: IncidentTable;
  webhook: WebhookTable;
  webhook_delivery: WebhookDeliveryTable;
  site_day: SiteDayTable;
  mount_span: MountSpanTable;
  mount_day: MountDayTable;
}

export type RecordRow = Selectable<RecordTable>;
export type RevisionRow = Selectable<RevisionTable>;
export type ChangeRow = Selectable<ChangeTable>;
export type PrincipalRow = Selectable<PrincipalTable>;
export type AccessTokenRow = Selectable<AccessTokenTable>;
export type IncidentRow = Selectable<IncidentTable>;
export type WebhookRow = Selectable<WebhookTable>;
export type WebhookDeliveryRow = Selectable<WebhookDeliveryTable>;
export type SiteDayRow = Selectable<SiteDayTable>;
export type MountSpanRow = Selectable<MountSpanTable>;
export type MountDayRow = Selectable<MountDayTable>;
export type SiteRow = Selectable<SiteTable>;
export type StoredAuditRow = Selectable<AuditTable>;
