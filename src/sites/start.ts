import { randomBytes } from "node:crypto";
import { mapWriteError } from "../database/error.ts";
import { createLease } from "../database/job.ts";
import type { Engine } from "../ledger/engine.ts";
import { type Feed, followFeed } from "../ledger/feed.ts";
import type { ServiceError } from "../messages/error.ts";
import { startPeriodic } from "../periodic.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Sealer } from "../secrets/sealer.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { isMountChange } from "../settings/mount-key.ts";
import { type EffectsOnMounts, NO_EFFECTS } from "./mount-effect.ts";
import { createProbes } from "./probe.ts";
import { createSiteRegistry, type SiteRegistry } from "./registry.ts";
import { createSiteService, type SiteService, type SiteServiceDeps } from "./service.ts";
import type { Site } from "./site.ts";
import type { SiteEvent, SiteStore } from "./store.ts";
import { createWorkers, type WorkerDeps, type Workers } from "./worker.ts";

/** Interval of checks for due work, in milliseconds. */
const BEAT = 1_000;

export interface SitesDeps {
  readonly store: SiteStore;
  readonly engine: Engine;
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
  readonly isHeld?: (site: Site) => boolean;
  readonly onClosed: (name: string, error: ServiceError) => void;
  /** Failure of the database, or an unexpected one. */
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?: WorkerDeps["times"] & {
    readonly beat?: number;
    /** Interval between two transactions with states of sites. */
    readonly pace?: number;
    /** Interval of renewals of the lease. */
    readonly renewal?: number;
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
  readonly workers: Workers;
  /** Whether this process follows the sites. */
  isLeader(): boolean;
  /** Reads the sites, takes the lease if it is free, and follows the sites that are due. */
  beat(): Promise<void>;
  /** Synchronizes a site now, also if another process holds the lease. */
  follow(siteId: string): Promise<void>;
  /** Ends all streams. */
  endStreams(): void;
  close(): Promise<void>;
}

/** Reads the sites and follows them while this process holds the lease. */
export async function startSites(deps: SitesDeps): Promise<Sites> {
  const { store, feed, sealer, now, onError } = deps;
  const registry = createSiteRegistry({
    store,
    sealer,
    onClosed: deps.onClosed,
    pace: deps.times?.pace,
  });
  /** Until the feed is read, any revision may have changed a setting. */
  const read = { revision: 0, setting: Number.POSITIVE_INFINITY };
  const workers = createWorkers({ ...deps, registry, read });
  const lease = createLease(store, {
    name: "sites",
    holder: randomBytes(9).toString("base64url"),
    now,
    renewal: deps.times?.renewal,
  });
  const probe = createProbes({
    stateOf: ({ id }) => registry.state(id),
    now,
    retry: ({ id }) => workers.retry(id),
    interval: deps.times?.probe,
  });
  const stopping = new AbortController();
  const ending = new AbortController();
  const ignore = (work: Promise<unknown>): void => void work.catch(onError);

  /** Called after a commit. Failing sites keep their back-off. */
  const followAll = (): void => {
    if (!lease.isHeld()) return;
    for (const site of registry.sites())
      if (site.mode === "follow" && !site.paused) ignore(workers.follow(site.id));
  };
  const beat = async (): Promise<void> => {
    await registry.load();
    if (registry.sites().length === 0) return;
    const wasHeld = lease.isHeld();
    await lease.renew();
    if (!lease.isHeld()) return;
    // The previous holder may have left unfinished work.
    if (!wasHeld) followAll();
    for (const site of registry.sites()) if (workers.isDue(site)) ignore(workers.follow(site.id));
    ignore(probe(registry.sites()));
  };
  const onCommits: Parameters<typeof followFeed>[2] = (commits) => {
    for (const { revision, changes } of commits ?? []) {
      read.revision = revision;
      if (!changes.every(isMountChange)) read.setting = revision;
    }
    // After a gap every site is compared.
    if (commits?.length !== 0) followAll();
  };
  const onBegin = (revision: number): void => {
    read.revision = revision;
    read.setting = revision;
  };
  await registry.load();
  await resealAll(registry, sealer, store);
  await beat();
  const job = startPeriodic(beat, { interval: deps.times?.beat ?? BEAT, onError });
  ignore(followFeed(feed, stopping.signal, onCommits, onBegin));
  const made = createSiteService({
    ...deps,
    effects: deps.effects ?? NO_EFFECTS,
    registry,
    workers,
    stopping: ending.signal,
    newId: () => randomBytes(9).toString("base64url"),
  });
  const service = readingFirst(registry, made);
  return {
    service,
    registry,
    workers,
    isLeader: lease.isHeld,
    beat,
    endStreams: () => ending.abort(),
    follow: (siteId) => workers.follow(siteId),
    close: async () => {
      ending.abort();
      stopping.abort();
      await job.stop();
      await workers.close();
      await lease.release().catch(onError);
    },
  };
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
