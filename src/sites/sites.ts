import { randomBytes } from "node:crypto";
import { mapWriteError } from "../database/error.ts";
import { createLease, type LeaseStore } from "../database/lease.ts";
import type { Feed } from "../ledger/feed.ts";
import { followFeed } from "../ledger/follow-feed.ts";
import type { ServiceError } from "../messages/error.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { SETTINGS } from "../settings/kind.ts";
import { createSiteClient } from "../sync/client.ts";
import { createSync, type Sync, type SyncTimes } from "../sync/sync.ts";
import { createSiteRegistry, type SiteRegistry } from "./registry.ts";
import { createSiteService, type SiteServiceDeps } from "./service.ts";
import { answers } from "./settings/client.ts";
import { createSettingSync, type SettingSync, type SettingSyncDeps } from "./settings/sync.ts";
import type { Site } from "./site.ts";
import type { SiteService } from "./site-service.ts";
import type { SiteStore } from "./store.ts";

/** Time limit of a probe, in milliseconds. */
const PROBE_LIMIT = 2_000;

export interface SiteRegistryOptions {
  readonly store: SiteStore;
  readonly sealer: Sealer;
  /** Called for a site whose secrets cannot be opened. */
  readonly onClosed: (name: string, error: ServiceError) => void;
  /** Interval between two transactions with states of sites, in milliseconds. */
  readonly batch?: number | undefined;
}

/** Reads the sites, and seals values of an older key again. */
export async function openSiteRegistry(options: SiteRegistryOptions): Promise<SiteRegistry> {
  const registry = createSiteRegistry(options);
  await registry.load();
  await resealAll(registry, options.sealer, options.store);
  return registry;
}

export interface SitesDeps
  extends Pick<
    SettingSyncDeps,
    "registry" | "ledger" | "hash" | "maxValueBytes" | "onEvent" | "holdsUpstream"
  > {
  readonly store: LeaseStore;
  readonly feed: Feed;
  readonly now: () => number;
  readonly random: () => number;
  /** Failure of the database, or an unexpected one. */
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?: SiteTimes | undefined;
}

/** Intervals of the work on sites, in milliseconds. */
export interface SiteTimes extends SyncTimes, NonNullable<SettingSyncDeps["times"]> {
  /** Interval of renewals of the lease. */
  readonly renewal?: number;
  /** Interval between two transactions with states of sites. */
  readonly batch?: number;
  /** Validity of rows that only the upstream has. */
  readonly ownRows?: number;
  /** Maximum wait of a save for the upstream. */
  readonly patience?: number;
}

/** Background work on the sites. */
export interface Sites {
  readonly registry: SiteRegistry;
  /** Reconciler of the sites, to which other kinds of records are added. */
  readonly sync: Sync<Site>;
  readonly settings: SettingSync;
  /** Starts the work: called once, after all kinds of records were added. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Creates the reconciler of the sites, with settings as its first kind of records. */
export function createSites(deps: SitesDeps): Sites {
  const { registry, store, feed, now, onError, times } = deps;
  const lease = createLease(store, {
    name: "sync",
    holder: randomBytes(9).toString("base64url"),
    now,
    renewal: times?.renewal,
  });
  const sync = createSync<Site>({
    lease,
    sites: registry,
    probe: (site) => isAnswering(site, PROBE_LIMIT),
    now,
    random: deps.random,
    onError,
    times,
  });
  /** Until the feed is read, any revision may have changed a setting. */
  const position = { revision: 0, setting: Number.POSITIVE_INFINITY };
  const settings = createSettingSync(sync, { ...deps, position });
  const stopping = new AbortController();
  const onCommits: Parameters<typeof followFeed>[2] = (commits) => {
    for (const { revision, changes } of commits ?? []) {
      position.revision = revision;
      if (changes.some(({ kind }) => kind === SETTINGS.name)) position.setting = revision;
    }
    // After a gap every site is compared.
    if (commits?.length !== 0)
      settings.changed(registry.sites().filter(({ mode }) => mode === "follow"));
  };
  const onBegin = (revision: number): void => {
    position.revision = revision;
    position.setting = revision;
  };
  return {
    registry,
    sync,
    settings,
    start: async () => {
      await sync.start();
      void followFeed(feed, stopping.signal, onCommits, onBegin).catch(onError);
    },
    close: async () => {
      stopping.abort();
      await sync.close();
    },
  };
}

/** Creates the service of the sites, whose changes include those of other processes. */
export function serveSites(deps: Omit<SiteServiceDeps, "newId">): SiteService {
  const newId = (): string => randomBytes(9).toString("base64url");
  return readingFirst(deps.registry, createSiteService({ ...deps, newId }));
}

/**
 * Reports whether an OpenList or AList answers at a site's address.
 *
 * @param limit time limit in milliseconds.
 */
export async function isAnswering(site: Site, limit: number): Promise<boolean> {
  const client = createSiteClient({ ...site, token: "" }, 1, limit);
  try {
    return await answers(client);
  } finally {
    client.close();
  }
}

/** Seals values of an older key, or unsealed values, with the current key. */
async function resealAll(registry: SiteRegistry, sealer: Sealer, store: SiteStore): Promise<void> {
  for (const row of await store.list()) {
    const site = registry.byId(row.id);
    if (site === undefined || site.token === "") continue;
    if (sealer.needsReseal(row.token) || sealer.needsReseal(row.overrides))
      await registry.update(site, [], site);
  }
}

/**
 * Service whose changes and requests begin with reading what other processes have written: a site
 * that another process has just created exists, and its changes are kept.
 */
function readingFirst(registry: Pick<SiteRegistry, "load">, service: SiteService): SiteService {
  const first =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await mapWriteError(registry.load());
      return work(...args);
    };
  // No spread of the service: the compiler reports a method that is in neither list.
  const { revision, list, get, etagOf, create, log, watch, pending, changed } = service;
  return {
    revision,
    list,
    get,
    etagOf,
    create,
    log,
    watch,
    pending,
    changed,
    update: first(service.update),
    delete: first(service.delete),
    check: first(service.check),
    compare: first(service.compare),
    adopt: first(service.adopt),
    sync: first(service.sync),
  };
}
