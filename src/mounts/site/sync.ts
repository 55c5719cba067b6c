import { setTimeout as sleep } from "node:timers/promises";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { message } from "../../messages/message.ts";
import { createRateLimit } from "../../rate-limit.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import type { Adapter, Failure, Job } from "../../sync/adapter.ts";
import { SiteFailure } from "../../sync/failure.ts";
import { forwardChange } from "../../sync/forward.ts";
import type { Sync } from "../../sync/sync.ts";
import { createStorageClient, MOUNT_LIMIT } from "./client.ts";
import type { MountRegistry, MountRequest } from "./registry.ts";
import { LeaseLost, type MountRound, type MountRoundOptions, runMountRound } from "./round.ts";
import type { StorageRow, WantedMount } from "./row.ts";
import { isWaiting, listingForm, nextListing } from "./state.ts";

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

/** Listener of rounds in the background. The next round of the site waits for it. */
export type RoundListener = (site: Site, round: MountRound) => void | Promise<void>;

/** Reconciler of the mounts of sites. */
export interface MountSync {
  /** Calls the listener after each round in the background, in the order of the listeners. */
  onRound(listener: RoundListener): void;
  /** Reconciles the sites after a change of mounts. */
  changed(): void;
  /** Reconciles a site, or shares the next run. */
  reconcile(siteId: string): Promise<void>;
  /** Reads a site's mounts without writing to the site. @throws SiteFailure. */
  read(siteId: string): Promise<MountRound>;
  /**
   * Requests a push of mounts, or records adopted ones. Failed and paused mounts are retried, and a
   * site with existing mounts is written to from now on. The process with the lease carries out the
   * request.
   */
  request(siteId: string, request: MountRequest): Promise<void>;
  /**
   * Pushes mounts to a site, and waits for the result. A second round reads the result of the first
   * one to confirm it. If another process has the lease, this waits for that process, at most the
   * time limit of one mount.
   *
   * @throws SiteFailure.
   */
  push(siteId: string, names: readonly string[]): Promise<void>;
  /**
   * Forwards a change that a user makes on the server's own pages, then reads the site's mounts. No
   * round runs in between, which would revert the change.
   *
   * @param send sends the request, after at most 5 s even if a round is still running.
   * @param adopt adopts the change, and returns the states of the adopted mounts.
   */
  forward(
    siteId: string,
    send: () => Promise<void>,
    adopt: (round: MountRound) => Promise<MountRequest["states"]>,
  ): Promise<void>;
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
  const listeners: RoundListener[] = [];

  const roundOf = (
    site: Site,
    options: Omit<MountRoundOptions, "siteId">,
    on: MountRegistry = registry,
  ): Promise<MountRound> =>
    runMountRound(
      { siteId: site.id, ...options },
      {
        ...deps,
        registry: on,
        rateLimit,
        client: createStorageClient(sync.clientOf(site), call),
        wanted: () => deps.wantedOf(site),
        mayWrite: () => sync.isLeader() && sites.byId(site.id)?.paused === false,
        follows: () => sites.byId(site.id)?.mode === "follow",
      },
    );
  const readSite = async (siteId: string): Promise<MountRound> => {
    const site = sites.byId(siteId);
    if (site === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    const unchanged = { ...registry, put: async () => undefined };
    return roundOf(site, { aim: "read", forced: [] }, unchanged);
  };
  /** Milliseconds until the next round of a site. */
  const pauseAfter = (siteId: string, { done }: MountRound): number => {
    const states = [...registry.records(siteId).values()];
    const isBusy = done.length > 0 || states.some(({ since }) => since > 0);
    const tries = states.flatMap((state) =>
      isWaiting(state, now()) ? [state.nextTry - now()] : [],
    );
    return Math.max(0, Math.min(isBusy ? reread : read, ...tries));
  };
  const adapter: Adapter<Site> = {
    concurrency: CONCURRENCY,
    failureOf: (siteId): Failure | undefined => {
      const {
        error,
        errorKind: kind,
        errorSince: since,
        failures,
        nextTry,
      } = registry.site(siteId);
      return error === "" ? undefined : { kind, message: error, since, failures, nextTry };
    },
    failed: async ({ id }, { kind, message: error, since, failures, nextTry }) => {
      const failure = { error, errorKind: kind, errorSince: since, failures, nextTry };
      await registry.put(id, { site: { ...registry.site(id), ...failure } });
    },
    reconcile: async (job: Job<Site>) => {
      const { site } = job;
      const attempt = async (): Promise<MountRound | undefined> => {
        try {
          return await roundOf(site, { aim: "push", forced: registry.site(site.id).forced });
        } catch (error) {
          if (error instanceof LeaseLost) return undefined;
          throw error;
        }
      };
      const round = await job.attempt(attempt, (done) =>
        done === undefined ? undefined : { requeueAfter: pauseAfter(site.id, done), replans: true },
      );
      if (round === undefined) return;
      for (const listener of listeners) await listener(site, round);
    },
    load: registry.load,
    requests: { waiting: registry.requested, carryOut: registry.carryOut },
  };
  const kind = sync.add(adapter);

  const request: MountSync["request"] = async (siteId, given) => {
    if (sites.byId(siteId) === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    await registry.request(siteId, given);
    await kind.requested();
  };
  /** Whether the process with the lease has not carried out a push of these mounts yet. */
  const isRequested = async (siteId: string, names: readonly string[]): Promise<boolean> =>
    (await registry.requested()).has(siteId) ||
    registry.site(siteId).forced.some((name) => names.includes(name));
  return {
    onRound: (listener) => void listeners.push(listener),
    changed: () => kind.changed(sites.sites()),
    reconcile: kind.reconcile,
    read: readSite,
    request,
    push: async (siteId, names) => {
      const isOpen = (name: string): boolean => {
        const state = registry.records(siteId).get(name);
        return state === undefined || (state.phase !== "" && state.error === "");
      };
      let open: readonly string[] = names;
      for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
        await request(siteId, { forced: open, states: {} });
        if (sync.isLeader()) await kind.reconcile(siteId);
        else
          for (let waited = 0; waited < MOUNT_LIMIT; waited += RESULT_INTERVAL) {
            await sleep(RESULT_INTERVAL);
            await registry.load();
            if (!open.some(isOpen) && !(await isRequested(siteId, open))) break;
          }
        open = open.filter(isOpen);
      }
    },
    forward: (siteId, send, adopt) =>
      forwardChange(kind.exclusive, siteId, {
        send,
        adopt: async () => {
          const states = await adopt(await readSite(siteId));
          // Stored before the next round, which would revert the adopted change.
          if (Object.keys(states).length === 0) return;
          await registry.request(siteId, { forced: [], states });
          if (sync.isLeader()) await registry.carryOut(siteId);
        },
        onError: deps.onError,
      }),
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
      for (let waited = 0; waited < RESULT_LIMIT; waited += RESULT_INTERVAL) {
        await sleep(RESULT_INTERVAL);
        await registry.load();
        if ((registry.listings(siteId).get(path)?.at ?? 0) >= listing.at) return;
      }
    },
  };
}

/** Maximum number of rounds of a push. */
const ROUNDS = 3;
/** Interval of reading the results of another process, in milliseconds. */
const RESULT_INTERVAL = 200;
/** Maximum wait for another process to store the result of a listing, in milliseconds. */
const RESULT_LIMIT = 5_000;
