import type { DriverInfo } from "../../drivers/driver-info.ts";
import { createRateLimit } from "../../rate-limit.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { createRecordSync, type RecordSync } from "../../sync/record-sync.ts";
import type { Sync } from "../../sync/sync.ts";
import { createStorageClient, MOUNT_LIMIT } from "./client.ts";
import { type Listing, listingForm, nextListing } from "./last-listing.ts";
import type { MountRegistry } from "./registry.ts";
import { type MountRound, runMountRound } from "./round.ts";
import type { StorageRow, WantedMount } from "./row.ts";
import { isWaiting, type MountState, type SiteMounts } from "./state.ts";

/** Interval of reading a site's mounts while no work is pending, in milliseconds. */
const READ_INTERVAL = 60_000;
/** Interval after a change, or while one is in progress. */
const REREAD_INTERVAL = 10_000;
/** No limit: a mount that hangs on some sites must not delay the others. */
const CONCURRENCY = Number.POSITIVE_INFINITY;
/**
 * Minimum interval between the starts of work on two mounts of any sites, in milliseconds. Each
 * takes 2 to 4 ms of the event loop; the rest is for other calls.
 */
const GAP = 8;

export interface MountSyncDeps {
  readonly sync: Sync<Site>;
  readonly sites: Pick<SiteRegistry, "sites" | "byId">;
  readonly registry: MountRegistry;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Desired mounts of a site, with its overrides applied. */
  readonly wantedOf: (site: Site) => readonly WantedMount[];
  /**
   * Brings folder rules to a site. Default: there are none.
   *
   * @returns paths of those that it must have before mounts there.
   */
  readonly rulesFirst?: ((site: Site) => Promise<readonly string[]>) | undefined;
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?:
    | {
        readonly read?: number;
        readonly reread?: number;
        /** Time limit of a call that mounts. */
        readonly call?: number;
      }
    | undefined;
}

/** Reconciler of the mounts of sites. */
export interface MountSync extends RecordSync<Site, MountState, Listing, MountRound> {
  /**
   * Stores the result of a listing of a mount; the process with the lease does it on request.
   *
   * @param classOf the class of an error.
   */
  record(
    siteId: string,
    row: StorageRow,
    error: string,
    classOf: (error: string) => string,
  ): Promise<void>;
}

/** Adds mounts to the reconciler of sites. */
export function createMountSync(deps: MountSyncDeps): MountSync {
  const { sync, sites, registry, now } = deps;
  const { read = READ_INTERVAL, reread = REREAD_INTERVAL, call = MOUNT_LIMIT } = deps.times ?? {};
  const rateLimit = createRateLimit(GAP);
  const kind = createRecordSync<Site, MountState, SiteMounts, Listing, MountRound>({
    ...deps,
    concurrency: CONCURRENCY,
    maxWait: MOUNT_LIMIT,
    round: (site, options, on) =>
      runMountRound(options, {
        ...deps,
        registry: on,
        rateLimit,
        client: createStorageClient(sync.clientOf(site), call),
        wanted: () => deps.wantedOf(site),
        rulesFirst: async () => (await deps.rulesFirst?.(site)) ?? [],
        mayWrite: () => sync.isLeader() && sites.byId(site.id)?.paused === false,
        follows: () => sites.byId(site.id)?.mode === "follow",
      }),
    pauseAfter: (siteId, { done }) => {
      const states = [...registry.records(siteId).values()];
      const isBusy = done.length > 0 || states.some(({ since }) => since > 0);
      const tries = states.flatMap((state) =>
        isWaiting(state, now()) ? [state.nextTry - now()] : [],
      );
      return Math.max(0, Math.min(isBusy ? reread : read, ...tries));
    },
    isOpen: (state) => state === undefined || (state.phase !== "" && state.error === ""),
  });
  return {
    ...kind,
    record: async (siteId, row, error, classOf) => {
      const path = row.mount_path;
      const listing = nextListing(registry.listings(siteId).get(path), {
        form: listingForm(row),
        driver: row.driver,
        at: now(),
        error,
        class: error === "" ? "" : classOf(error),
      });
      if (sync.isLeader()) return registry.put(siteId, { listings: { [path]: listing } });
      await registry.request(siteId, { forced: [], states: {}, listings: { [path]: listing } });
      const isStored = () => (registry.listings(siteId).get(path)?.at ?? 0) >= listing.at;
      await kind.waitFor(isStored, RESULT_LIMIT);
    },
  };
}

/** Maximum wait for another process to store the result of a listing, in milliseconds. */
const RESULT_LIMIT = 5_000;
