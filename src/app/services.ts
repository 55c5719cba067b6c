import { createThrottle } from "../access/throttle.ts";
import type { Checkpoints } from "../audit/checkpoint.ts";
import type { Config } from "../config/config.ts";
import { makeFolder } from "../database/sqlite/file.ts";
import { readBuiltIn } from "../drivers/built-in.ts";
import { createDriverService, openCatalogue } from "../drivers/driver.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Localize } from "../messages/localize.ts";
import { createHistoryView } from "../mounts/history-view.ts";
import { SETTINGS } from "../settings/kind.ts";
import { readSiteNames } from "../sites/registry.ts";
import { NO_MOUNTS } from "../sites/site.ts";
import { createSiteNames } from "../sites/site-names.ts";
import type { SitesDeps } from "../sites/sites.ts";
import type { Store } from "../store/stores.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { type OpenAccess, openAccess } from "./access.ts";
import { keepAudit, openAudit } from "./audit.ts";
import { openStore } from "./database.ts";
import { type MountTimes, type OpenMounts, openMounts } from "./mounts.ts";
import type { Services } from "./routes.ts";
import { type SettingServiceOptions, startSettingServices } from "./settings.ts";
import { type OpenSites, openSites, openUpstream, summaryOf } from "./sites.ts";
import { createStatusService } from "./status.ts";

/** Dependencies of services on the process. */
export interface ServicesDeps extends Omit<SettingServiceOptions, "store" | "commonLog"> {
  readonly commonLog: Logger;
  /** Called with the duration of each transaction, in milliseconds. */
  readonly committed?: ((duration: number) => void) | undefined;
  /** Other intervals for the background work on sites; undefined: those of the program. */
  readonly siteTimes?: SitesDeps["times"] | undefined;
  /** Timings of mounts and incidents. */
  readonly mountTimes?: MountTimes | undefined;
  /** Number of open streams. */
  readonly watchers: () => number;
  readonly localize: Localize;
  readonly draining: () => boolean;
}

/** Services behind the contract. */
export interface RunningServices extends Services {
  readonly authentication: OpenAccess["authentication"];
  /** The upstream. */
  readonly upstream: Upstream | undefined;
  readonly ledger: Ledger;
  /** Open incidents by class. */
  readonly incidentCounts: OpenMounts["incidents"]["counts"];
  /** Id of the database. It changes when a standby of PostgreSQL is promoted. */
  databaseId(): string;
  readonly checkpoints: Checkpoints;
  /** Milliseconds since the last answer if the database is unavailable; 0: it is available. */
  databaseAwayFor(): number;
  /** Ends every stream with UNAVAILABLE: they would never end by themselves. */
  endStreams(): void;
  close(): Promise<void>;
}

/**
 * Starts the services in the order of their dependencies: drivers, store, settings, sites,
 * upstream, access. They are closed in reverse order, also when the start fails.
 *
 * @throws Error with a message for the operator.
 */
export async function startServices(config: Config, deps: ServicesDeps): Promise<RunningServices> {
  await using opened = new AsyncDisposableStack();
  const { log, commonLog, watchers, localize, draining, version } = deps;
  const drivers = await openCatalogue({
    builtIn: readBuiltIn({ offer: config.family }),
    directory: config.driversDir,
    enabled: config.driversEnabled,
    onError: (error) => commonLog.error({ reason: error.message }, "the driver folder is invalid"),
    onNotice: (message) => commonLog.info(message),
  });
  opened.defer(drivers.close);
  makeFolder(config.dataDir);
  const store = timed(
    await openStore(config, (level, message) => log[level](message)),
    deps.committed,
  );
  opened.defer(() => store.close());
  // The sites are read after the settings.
  let openedSites: OpenSites | undefined;
  const { showKey } = createHistoryView(() => openedSites?.registry.names() ?? createSiteNames([]));
  const services = await startSettingServices(config, { ...deps, store, showKey });
  opened.defer(services.close);
  const { ledger, feed } = services;
  let mountService: OpenMounts["mounts"] | undefined;
  const sites = await openSites(config, {
    services,
    store,
    log,
    times: deps.siteTimes,
    mountsOf: (site) => mountService?.ofSite(site) ?? NO_MOUNTS,
    // Mounts start after the sites; no call arrives before.
    effects: {
      leave: async (...args) => (await mountService?.leave(...args)) ?? [],
      affected: (...args) => mountService?.affected(...args) ?? [],
    },
  });
  opened.defer(sites.close);
  openedSites = sites;
  const driverOf = (name: string) => drivers.current().get(name);
  const {
    incidents,
    mounts,
    endStreams: endMountStreams,
    close: closeMounts,
  } = await openMounts(config, {
    sites,
    store,
    services,
    driverOf,
    log,
    driverNames: () => drivers.current().names,
    times: deps.mountTimes,
  });
  opened.defer(closeMounts);
  mountService = mounts;
  await sites.start();
  const upstream = openUpstream(config, {
    services,
    sites,
    forwardMounts: mounts.passing,
    log,
    times: deps.siteTimes,
  });
  opened.defer(() => upstream?.close());
  const { authentication, manager, close } = await openAccess({
    ledger,
    store,
    upstream,
    localize,
    log,
    throttle: createThrottle({ perMinute: config.wrongTokens }),
    endedTokenAge: config.endedTokenAgeMs,
  });
  opened.defer(close);
  const audit = openAudit({ store, log });
  opened.defer(audit.close);
  const checkpoints = keepAudit(config, { store, log });
  opened.defer(checkpoints.stop);
  const stopping = new AbortController();
  const running = opened.move();
  return {
    ...services,
    sites: sites.service,
    pendingSites: sites.service.pending,
    mounts,
    incidents: incidents.incidents,
    webhooks: incidents.webhooks,
    siteName: incidents.siteName,
    siteNames: sites.registry.names,
    readSites: () => readSiteNames(sites.registry),
    mountAt: incidents.mountAt,
    coverage: (siteId) => ({ ...mounts.looked(siteId), interval: config.probeIntervalMs }),
    driverOf,
    incidentCounts: incidents.counts,
    access: manager,
    audit,
    checkpoints,
    isSecret: (key) => ledger.snapshot().get(SETTINGS, key)?.secret === true,
    databaseId: () => store.databaseId,
    databaseAwayFor: store.awayFor,
    drivers: createDriverService({ live: drivers, stopping: stopping.signal }),
    status: createStatusService({
      store,
      ledger,
      drivers: () => drivers.current().names.length,
      sites: async () => {
        await upstream?.probe();
        return summaryOf(sites.service);
      },
      watchers,
      draining,
      version,
      database:
        config.database.dialect === "sqlite"
          ? `sqlite:${config.database.filename}`
          : config.database.place,
      now: Date.now,
    }),
    upstream,
    authentication,
    endStreams: () => {
      stopping.abort();
      feed.close();
      audit.endStreams();
      sites.endStreams();
      endMountStreams();
    },
    close: () => running.disposeAsync(),
  };
}

/** The store with measured transactions, if they are observed. */
function timed(store: Store, committed: ServicesDeps["committed"]): Store {
  if (committed === undefined) return store;
  const transact: Store["transact"] = async (work) => {
    const started = performance.now();
    try {
      return await store.transact(work);
    } finally {
      committed(performance.now() - started);
    }
  };
  return Object.create(store, { transact: { value: transact } });
}
