import type { MountDay, MountSpan } from "./mount-span.ts";
import type { SiteDay } from "./site-day.ts";

/** Change of the stored days of mounts. */
export type DayChange =
  /** Adds time to a day of a mount. */
  | { readonly kind: "add"; readonly day: MountDay }
  /** Moves a mount with its days to another path of its site. */
  | {
      readonly kind: "move";
      readonly siteId: string;
      readonly from: string;
      readonly to: string;
    }
  /** Removes a mount with its days. */
  | { readonly kind: "remove"; readonly siteId: string; readonly path: string }
  /** Removes the days of a site and its mounts before a day. */
  | { readonly kind: "forget"; readonly siteId: string; readonly before: number };

/** Changes of one transaction, which are written in this order. */
export interface DayWrites {
  readonly changes: readonly DayChange[];
  readonly spans: readonly MountSpan[];
  readonly sites: readonly SiteDay[];
}

/** Mounts of a site, ordered by path. */
export interface SpanFilter {
  readonly siteId: string;
  /** Only mounts after this path; empty: all. */
  readonly after: string;
  /** Only the mount at this path. */
  readonly path?: string | undefined;
  /** Only mounts that fail, or have failed on this day or later. */
  readonly failedSince?: number | undefined;
  readonly limit: number;
}

/** Keeps the days of sites and mounts. Rejects with a StoreError only. */
export interface DayStore {
  write(writes: DayWrites): Promise<void>;
  /** All days of sites. @param siteIds undefined: of all sites. */
  siteDays(siteIds?: readonly string[]): Promise<readonly SiteDay[]>;
  /** All mounts, for the process that writes. */
  allSpans(): Promise<readonly MountSpan[]>;
  /** Listed mounts. */
  spans(filter: SpanFilter): Promise<readonly MountSpan[]>;
  mountDays(siteId: string, paths: readonly string[]): Promise<readonly MountDay[]>;
  /** Removes everything of sites that do not exist. */
  forgetSites(): Promise<void>;
}
