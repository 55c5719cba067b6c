import type { AuditEntry } from "../audit/store.ts";
import type { LeaseStore } from "../database/lease.ts";
import type { Text } from "../messages/message.ts";

/** Site as stored. */
export interface StoredSite {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** Canonical form of the address, unique among sites. */
  readonly address: string;
  /** Sealed. */
  readonly token: string;
  /** PEM text of an authority; empty: Node's default authorities. */
  readonly ca: string;
  /** SHA-256 of the certificate in hexadecimal; empty: the authority decides. */
  readonly pin: string;
  readonly mode: string;
  /** JSON array of patterns, as `exclude`. */
  readonly include: string;
  readonly exclude: string;
  /** JSON object of values by key. Sealed. */
  readonly overrides: string;
  readonly paused: boolean;
  /** Start of the import that has paused it, in milliseconds since 1970 UTC; 0: none. */
  readonly restoring: number;
  /** Whether it is the upstream. */
  readonly upstream: boolean;
  /** Milliseconds since 1970 UTC. */
  readonly created: number;
}

/** Stored state of a site's settings. */
export interface StoredSiteState {
  readonly siteId: string;
  /** Grows by one with each write; 0: never written. */
  readonly version: number;
  /** Revision whose changes are on the site; 0: none. */
  readonly appliedRevision: number;
  /** JSON. */
  readonly state: string;
}

/** Action on a site. */
export interface SiteEvent {
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly actor: string;
  /** Such as `push` or `adopt`. */
  readonly action: string;
  readonly revision: number;
  readonly keys: readonly string[];
  /** For display; never a secret value. */
  readonly result: Text;
}

/** Action of a write of a mount in the log of a site. Its key is `mount:` and the name. */
export const MOUNT_ACTION = "mount";

/** Action of a write of a folder rule in the log of a site. Its key is `rule:` and the path. */
export const RULE_ACTION = "rule";

/** Action of a copy of a user in the log of a site. Its key is `user:` and the name. */
export const USER_ACTION = "user";

/** Page of the log of a site. */
export interface LogPage {
  readonly limit: number;
  /** Only entries before this sequence number. Absent: the newest. */
  readonly before?: number | undefined;
  /** Actions whose entries are left out. Absent: none. */
  readonly without?: readonly string[];
}

/** New state of a site, and the actions that led to it. */
export interface SiteStateWrite {
  readonly state: StoredSiteState;
  readonly events: readonly SiteEvent[];
  /** Audit entries. */
  readonly audit: readonly AuditEntry[];
}

/** Actions on a site that do not change the state of its settings. */
export interface SiteNote {
  readonly siteId: string;
  readonly events: readonly SiteEvent[];
  /** Audit entries, which are written for deleted sites too. */
  readonly audit: readonly AuditEntry[];
}

export interface StoredSiteEvent extends SiteEvent {
  readonly seq: number;
}

/** Stores sites, their states and their logs. Rejects only with a StoreError. */
export interface SiteStore extends LeaseStore {
  /**
   * Version of the data of `list` and `states`: a text that changes with each write of any process.
   * Undefined: nothing was written yet.
   */
  version(): Promise<string | undefined>;
  list(): Promise<readonly StoredSite[]>;
  /**
   * @param audit entries that are written with the change, as for the methods below.
   * @returns false if another site has the name or address.
   */
  insert(site: StoredSite, audit: readonly AuditEntry[]): Promise<boolean>;
  /**
   * Replaces a site by its id.
   *
   * @param before the row that was read; undefined: any.
   * @returns as insert; also false when it does not exist; undefined if it is no longer `before`.
   */
  update(
    site: StoredSite,
    audit: readonly AuditEntry[],
    before?: StoredSite,
  ): Promise<boolean | undefined>;
  /** Deletes a site with its state, its log and its days. */
  delete(id: string, audit: readonly AuditEntry[]): Promise<void>;
  states(): Promise<readonly StoredSiteState[]>;
  /**
   * Writes states of sites and their actions in one transaction.
   *
   * @param records states with the versions that were read.
   * @returns the new version of each; undefined if another process has written meanwhile or the
   *   site was deleted, in which case nothing is written for this site.
   */
  record(records: readonly SiteStateWrite[]): Promise<readonly (number | undefined)[]>;
  /** Writes actions on sites in one transaction. */
  note(notes: readonly SiteNote[]): Promise<void>;
  /** Newest first. */
  log(siteId: string, page: LogPage): Promise<readonly StoredSiteEvent[]>;
}

/** Reports whether two rows are equal. Sealed members differ after each write. */
export function isSameSite(a: StoredSite, b: StoredSite): boolean {
  return (Object.keys(a) as (keyof StoredSite)[]).every((name) => a[name] === b[name]);
}
