import type { AuditOrigin } from "../audit/entry.ts";
import type { Collection } from "../collection-view.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import type { Text } from "../messages/message.ts";
import type { View } from "../state-feed.ts";
import type { SiteInput } from "./input.ts";
import type { KindResult } from "./record-effect.ts";
import type { Adoption } from "./settings/adoption.ts";
import type { Comparison } from "./settings/compare.ts";
import type { Pushed } from "./settings/push.ts";
import type { Site, SiteView } from "./site.ts";
import type { LogPage, StoredSiteEvent } from "./store.ts";

/** Result of a sync, or of its dry run. */
interface Synced {
  /** Pushed revision. */
  readonly revision: number;
  readonly results: readonly Pushed[];
  readonly comparisons: readonly Comparison[];
  /** Result of connecting the download managers. */
  readonly connected: readonly string[];
}

/** All sites at one time, by their ids. */
export interface WatchedSites extends Collection<SiteView> {
  /** Settings of that time: the state of a site depends on their revision. */
  readonly snapshot: Snapshot;
}

/** Service for sites. UNAVAILABLE: the site does not answer. FAILED_PRECONDITION: the site refuses. */
export interface SiteService {
  /** The newest revision of the settings. */
  revision(): number;
  list(): readonly SiteView[];
  /** @throws NOT_FOUND. */
  get(name: string): SiteView;
  /** Creates a site in mode `observe`. @throws INVALID_ARGUMENT; ALREADY_EXISTS; as check (nothing is stored then). @param signal ends the call. */
  create(input: SiteInput, origin: AuditOrigin, signal?: AbortSignal): Promise<SiteView>;
  /** Etag of the members of a site that clients set, without secrets. */
  etagOf(site: Site): string;
  /** @throws INVALID_ARGUMENT; NOT_FOUND; ALREADY_EXISTS; ABORTED for another etag; FAILED_PRECONDITION for `follow` before the first adoption or sync, and for a site that a file declares. */
  update(
    name: string,
    input: SiteInput,
    origin: AuditOrigin,
    options?: {
      readonly dryRun?: boolean;
      /** Whether the caller may read secrets of the site, and so send them elsewhere. Default: true. */
      readonly reveals?: boolean;
      /** Etag that the site must have. Undefined: any. */
      readonly expectedEtag?: string | undefined;
    },
  ): Promise<{ readonly view: SiteView; readonly records: readonly KindResult[] }>;
  /**
   * Removes a site; its server is unchanged. Records that name it stay on their other sites, or on
   * none.
   *
   * @returns these records. @throws NOT_FOUND; FAILED_PRECONDITION for a site, or a record of it, that a file declares.
   */
  delete(
    name: string,
    origin: AuditOrigin,
    options?: { readonly dryRun?: boolean },
  ): Promise<readonly KindResult[]>;
  /** Reads the site now. */
  check(name: string, signal?: AbortSignal): Promise<SiteView>;
  compare(
    name: string,
    signal?: AbortSignal,
  ): Promise<{ readonly view: SiteView; readonly comparisons: readonly Comparison[] }>;
  /** Stores the site's values in Mooring. @param keys empty: all. @throws INVALID_ARGUMENT for unknown keys. */
  adopt(
    name: string,
    options: {
      readonly keys: readonly string[];
      readonly dryRun: boolean;
      /** Whether the caller may read secrets. Default: true. */
      readonly reveals?: boolean;
      /** Checks the right of the caller after the site was read. Default: no-op. */
      readonly renew?: () => Promise<void>;
      /** Ends the wait for the site. */
      readonly signal?: AbortSignal;
    },
    origin: RevisionOrigin,
  ): Promise<Adoption>;
  /** Pushes Mooring's values. @param keys as for adopt. */
  sync(
    name: string,
    options: {
      readonly keys: readonly string[];
      readonly dryRun: boolean;
      readonly connectDownloaders: boolean;
      /** Ends the call. A push that has begun is completed. */
      readonly signal?: AbortSignal;
    },
    actor: string,
  ): Promise<Synced>;
  log(name: string, page: LogPage): Promise<readonly StoredSiteEvent[]>;
  /** Streams all sites, then each one that changes. @throws UNAVAILABLE at the end. */
  watch<M>(view: View<WatchedSites, M>, signal: AbortSignal): AsyncIterable<M>;
  /**
   * Sites that follow and get no change now: they are paused, or could not be read.
   *
   * @param isAsked by id; default: all sites.
   */
  pending(
    isAsked?: (siteId: string) => boolean,
  ): readonly { readonly site: string; readonly reason: Text }[];
  /** Wakes streams after a change of the records of sites. */
  changed(): void;
}
