import type { Grant } from "../access/grant.ts";
import type { AuditOrigin } from "../audit/entry.ts";
import type { RecordKind } from "../history/kind.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import type { Text } from "../messages/message.ts";
import type { Caller, ChangeOptions, Saved } from "../records/caller.ts";
import type { RecordEtag } from "../records/etag.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import type { Site } from "../sites/site.ts";
import type { View } from "../state-feed.ts";
import type { RunningSite } from "./effect.ts";
import type { MountInput } from "./input.ts";
import type { Mount } from "./mount.ts";
import type { MountRound } from "./site/round.ts";
import type { Status, StatusSources } from "./status.ts";
import type { TestResult } from "./test.ts";
import type { WatchedMounts } from "./watch.ts";

/** Options of a change of mounts. */
export interface MountOptions extends ChangeOptions {
  /** Whether several sites may get the same credential. Default: no. */
  readonly allowShared?: boolean;
}

/** Sources of the state of mounts besides the stored states on sites. */
export interface MountHealth extends Omit<StatusSources, "registry"> {
  /** Class of an error of a driver. */
  readonly classOf: (error: string) => string;
  /** Reports whether further attempts with this class of error may lock the account. */
  readonly isRefusal: (kind: string) => boolean;
}

/**
 * Rules of mounts. Failed calls to sites are UNAVAILABLE or FAILED_PRECONDITION, as for settings.
 */
export interface MountService {
  /** Mounts as the sites see them. */
  readonly onSites: KindOfSites;
  revision(): number;
  /** Etag of a mount. */
  readonly etagOf: RecordEtag<Mount>;
  /**
   * Mounts that the caller may read, sorted by name.
   *
   * @param site only those on this site; empty: all. @throws NOT_FOUND for an unknown site.
   */
  list(grant: Grant, site?: string): Promise<readonly Mount[]>;
  /**
   * Name of the mount that a request names by its name or a path on any site. Other text is not
   * changed.
   *
   * @throws INVALID_ARGUMENT for a path of several mounts.
   */
  nameOf(text: string, grant: Grant): string;
  /** Mounts as a kind of records in the history. */
  readonly kind: RecordKind;
  /** Mounts of these names. */
  saved(names: ReadonlySet<string>): readonly Mount[];
  /** @throws NOT_FOUND; PERMISSION_DENIED. */
  get(name: string, grant: Grant): Mount;
  /**
   * Enabled mounts on sites, Mooring's and others, with what is known about them.
   *
   * @param signal ends the work.
   */
  coverage(
    siteId: string | undefined,
    signal?: AbortSignal,
  ): Promise<{
    readonly mounts: readonly {
      readonly site: string;
      readonly path: string;
      readonly listedAt: number;
      readonly isFailing: boolean;
    }[];
    readonly unread: readonly {
      readonly site: string;
      readonly cause: Text;
      readonly readAt: number;
    }[];
  }>;
  /** Calls the listener after a change of the states of mounts. */
  onStatus(listener: () => void): void;
  /** Status of a mount on each of its sites. */
  statuses(mount: Mount): readonly Status[];
  /** Number of all sites. */
  siteCount(): number;
  save(inputs: readonly MountInput[], caller: Caller, options?: MountOptions): Promise<Saved>;
  /**
   * Replaces an item's value in all mounts of the driver that have the same value as a given mount.
   *
   * @param at.site the site whose override has the value; empty: the mount itself.
   * @throws as save; FAILED_PRECONDITION when the item has no value.
   */
  replace(
    at: { readonly name: string; readonly item: string; readonly site: string },
    value: string,
    caller: Caller,
    options?: MountOptions,
  ): Promise<Saved>;
  copy(
    name: string,
    to: { readonly name: string; readonly path: string },
    caller: Caller,
    options?: MountOptions,
  ): Promise<Mount>;
  rename(name: string, newName: string, caller: Caller): Promise<Mount>;
  delete(names: readonly string[], caller: Caller, options?: MountOptions): Promise<Saved>;
  /** Plan of a sync of a site. @param signal ends the call. */
  compare(site: string, signal?: AbortSignal): Promise<readonly RecordResult[]>;
  /** @param signal ends the call. What was requested of the site until then is carried out. */
  sync(
    site: string,
    names: readonly string[],
    origin: AuditOrigin,
    signal?: AbortSignal,
  ): Promise<readonly Status[]>;
  /**
   * Lists mounts at their providers now.
   *
   * @param names empty: all that the caller can read. @param site empty: each of their sites.
   * @throws NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT for more than 500 results.
   */
  test(
    names: readonly string[],
    site: string,
    caller: { readonly grant: Grant; readonly origin: AuditOrigin },
    signal: AbortSignal,
  ): Promise<readonly TestResult[]>;
  adopt(
    site: string,
    names: readonly string[],
    caller: Caller,
    options?: MountOptions,
  ): Promise<Saved>;
  /**
   * Forwards a change made on a server's own pages, and adopts the result as the caller's change.
   */
  forward(site: Site, send: () => Promise<void>, origin: RevisionOrigin): Promise<void>;
  /** Adopts content that users have edited on a site. */
  adoptContent(site: Site, content: MountRound["adopt"], origin: RevisionOrigin): Promise<void>;
  /** Name of the file that declares a mount; undefined: none. */
  declaredBy(name: string): string | undefined;
  /** Sites whose mounts are written to their servers. */
  running(): readonly RunningSite[];
  /**
   * Rows for the backup pages of servers, with the mounts that were asked for.
   *
   * @param names empty: all that the caller may read. @param reveals whether secrets are included.
   */
  export(
    names: readonly string[],
    site: string,
    grant: Grant,
    reveals: boolean,
  ): Promise<{
    readonly mounts: readonly Mount[];
    readonly document: { readonly storages: readonly Record<string, unknown>[] };
  }>;
  /** Streams all mounts, then each one that changes with its statuses. @throws UNAVAILABLE at the end. */
  watch<M>(view: View<WatchedMounts, M>, signal: AbortSignal): AsyncIterable<M>;
  /** Wakes streams after a commit. */
  changed(): void;
}
