import { randomBytes } from "node:crypto";
import { mapWriteError } from "../database/error.ts";
import { createLease } from "../database/job.ts";
import { type Feed, followFeed } from "../ledger/feed.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ServiceError } from "../messages/error.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Sealer } from "../secrets/sealer.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { isMountChange } from "../settings/mount-key.ts";
import { createSiteClient } from "../sync/client.ts";
import { createSync, type Sync, type SyncTimes } from "../sync/sync.ts";
import { type EffectsOnMounts, NO_EFFECTS } from "./mount-effect.ts";
import { createSiteRegistry, type SiteRegistry } from "./registry.ts";
import { createSiteService, type SiteService, type SiteServiceDeps } from "./service.ts";
import { answers } from "./settings/client.ts";
import { createSettingSync, type SettingSync, type SettingSyncDeps } from "./settings/sync.ts";
import type { Site } from "./site.ts";
import type { SiteEvent, SiteStore } from "./store.ts";

/** Time limit of a probe, in milliseconds. */
const PROBE_LIMIT = 2_000;

export interface SitesDeps {
  readonly store: SiteStore;
  readonly ledger: Ledger;
  readonly feed: Feed;
  readonly sealer: Sealer;
  readonly hash: Fingerprint;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  readonly managedBy: (key: string) => string | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly onEvent: (site: Site, event: SiteEvent) => void;
  readonly mountsOf?: SiteServiceDeps["mountsOf"];
  /** Default: none. */
  readonly effects?: EffectsOnMounts | undefined;
  readonly isHeld?: SettingSyncDeps["isHeld"];
  readonly onClosed: (name: string, error: ServiceError) => void;
  /** Failure of the database, or an unexpected one. */
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?: SyncTimes &
    SettingSyncDeps["times"] & {
      /** Interval of renewals of the lease. */
      readonly renewal?: number;
      /** Interval between two transactions with states of sites. */
      readonly batch?: number;
      /** Validity of rows that only the upstream has. */
      readonly ownRows?: number;
      /** Maximum wait of a save for the upstream. */
      readonly patience?: number;
    };
}

/** Sites of a store, with the background work on them. */
export interface Sites {
  readonly service: SiteService;
  readonly registry: SiteRegistry;
  /** Reconciler of the sites, to which other kinds of records are added. */
  readonly sync: Sync<Site>;
  readonly settings: SettingSync;
  /** Starts the background work: called once, after all kinds of records were added. */
  start(): Promise<void>;
  /** Ends all streams. */
  endStreams(): void;
  close(): Promise<void>;
}

/** Reads the sites. */
export async function createSites(deps: SitesDeps): Promise<Sites> {
  const { store, feed, sealer, onError } = deps;
  const registry = createSiteRegistry({
    store,
    sealer,
    onClosed: deps.onClosed,
    batch: deps.times?.batch,
  });
  const sync = createSync<Site>({
    lease: createLease(store, {
      name: "sync",
      holder: randomBytes(9).toString("base64url"),
      now: deps.now,
      renewal: deps.times?.renewal,
    }),
    sites: registry,
    probe: (site) => isAnswering(site, PROBE_LIMIT),
    now: deps.now,
    random: deps.random,
    onError,
    times: deps.times,
  });
  /** Until the feed is read, any revision may have changed a setting. */
  const position = { revision: 0, setting: Number.POSITIVE_INFINITY };
  const settings = createSettingSync(sync, { ...deps, registry, position });
  const stopping = new AbortController();
  const ending = new AbortController();
  const onCommits: Parameters<typeof followFeed>[2] = (commits) => {
    for (const { revision, changes } of commits ?? []) {
      position.revision = revision;
      if (!changes.every(isMountChange)) position.setting = revision;
    }
    // After a gap every site is compared.
    if (commits?.length !== 0)
      settings.changed(registry.sites().filter(({ mode }) => mode === "follow"));
  };
  const onBegin = (revision: number): void => {
    position.revision = revision;
    position.setting = revision;
  };
  await registry.load();
  await resealAll(registry, sealer, store);
  const made = createSiteService({
    ...deps,
    effects: deps.effects ?? NO_EFFECTS,
    registry,
    settings,
    stopping: ending.signal,
    newId: () => randomBytes(9).toString("base64url"),
  });
  return {
    service: readingFirst(registry, made),
    registry,
    sync,
    settings,
    start: async () => {
      await sync.start();
      void followFeed(feed, stopping.signal, onCommits, onBegin).catch(onError);
    },
    endStreams: () => ending.abort(),
    close: async () => {
      ending.abort();
      stopping.abort();
      await sync.close();
    },
  };
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
  const { revision, list, get, create, log, watch, pending, changed } = service;
  return {
    revision,
    list,
    get,
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
