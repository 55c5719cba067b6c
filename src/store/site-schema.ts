import type { Selectable } from "kysely";

/** A site. Booleans are 0 or 1; what is sealed is the service's to open. */
export interface SiteTable {
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
  upstream: number;
  /** Milliseconds since 1970 UTC. */
  created: number;
}

/** What is known of a site's settings, as JSON. */
export interface SiteStateTable {
  site_id: string;
  /** Grows by one with each write. */
  version: number;
  applied_revision: number;
  state: string;
}

/** What was done at a site. */
export interface SiteLogTable {
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

/** Work that one process does at a time. */
export interface LeaseTable {
  name: string;
  holder: string;
  /** Milliseconds since 1970 UTC. */
  expires: number;
}

/** The tables of sites. */
export interface SiteDatabase {
  site: SiteTable;
  site_state: SiteStateTable;
  site_log: SiteLogTable;
  lease: LeaseTable;
}

export type SiteRow = Selectable<SiteTable>;
