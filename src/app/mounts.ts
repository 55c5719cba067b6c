import type { AuditStore } from "../audit/store.ts";
import type { Config } from "../config/config.ts";
import { mapWriteError } from "../database/error.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { actionOf, classify } from "../incidents/incident.ts";
import { needsUser } from "../incidents/probe.ts";
import type { Incidents, IncidentTimes } from "../incidents/start.ts";
import type { IncidentStore } from "../incidents/store.ts";
import { followFeed } from "../ledger/follow-feed.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { isMountChange } from "../mounts/kind.ts";
import type { MountService } from "../mounts/mount-service.ts";
import { createMountView } from "../mounts/mount-view.ts";
import { createMountService, type MountServiceDeps } from "../mounts/service.ts";
import { createLister } from "../mounts/site/listing.ts";
import { createMountRegistry } from "../mounts/site/registry.ts";
import { createMountSync, type MountSync, type MountSyncDeps } from "../mounts/site/sync.ts";
import type { Sites } from "../sites/sites.ts";
import { MOUNT_ACTION, type SiteStore } from "../sites/store.ts";
import type { Declared } from "../state-file/declared.ts";
import type { RecordStateStore } from "../sync/record-state-store.ts";
import type { Logger } from "../telemetry/log.ts";
import { openIncidents } from "./incidents.ts";
import { recordRounds } from "./round-log.ts";
import type { SettingServices } from "./settings.ts";

/** Dependencies of mounts and incidents. */
export interface MountParts {
  readonly sites: Pick<Sites, "registry" | "sync">;
  readonly store: {
    readonly sites: SiteStore;
    readonly mountStates: RecordStateStore;
    readonly incidents: IncidentStore;
    readonly audit: Pick<AuditStore, "append">;
  };
  readonly services: Pick<SettingServices, "ledger" | "feed" | "fingerprint">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  /** File that declares a record of a part of archives; undefined: clients change it. */
  readonly declaredBy: Declared["by"];
  readonly rulesFirst: MountSyncDeps["rulesFirst"];
  /** Reports whether the folder rules of a site limit a mount less at another path. */
  readonly movingOn: MountServiceDeps["movingOn"];
  readonly log: Logger;
  /** Other intervals for the background work; undefined: those of the program. */
  readonly times?: MountTimes | undefined;
}

/** Intervals of the work on mounts and incidents, in milliseconds. */
export interface MountTimes extends IncidentTimes {
  /** Interval between two lists of a site's mounts. */
  readonly read?: number;
  /** The same after a change. */
  readonly reread?: number;
}

/** Mounts of sites, and their incidents. */
export interface OpenMounts {
  readonly mounts: MountService;
  readonly incidents: Incidents;
  /** Brings mounts to a site, in the background. */
  reconcile(siteId: string): void;
  endStreams(): void;
  close(): Promise<void>;
}

/** Starts the work on the mounts of the sites, and on incidents of failing mounts. */
export async function openMounts(
  config: Config,
  {
    sites,
    store,
    services,
    driverOf,
    driverNames,
    declaredBy,
    rulesFirst,
    movingOn,
    log,
    times = {},
  }: MountParts,
): Promise<OpenMounts> {
  const { ledger, feed, fingerprint } = services;
  const ending = new AbortController();
  // Closes the parts in reverse order: at the end, and when a later part fails to start.
  await using opened = new AsyncDisposableStack();
  const lister = createLister({ driverOf });
  const registry = createMountRegistry(store.mountStates);
  const view = createMountView(ledger);
  const sync = createMountSync({
    sync: sites.sync,
    sites: sites.registry,
    registry,
    hash: fingerprint,
    now: Date.now,
    driverOf,
    wantedOf: view.wantedOf,
    rulesFirst,
    onError: (error) => log.error({ err: error }, "failed to follow mounts"),
    times,
  });
  const incidents = await openIncidents(config, {
    store: store.incidents,
    sites,
    driverOf,
    declaredBy,
    view,
    registry,
    lister,
    sync,
    onSites: () => mounts.onSites,
    log,
    times,
  });
  opened.defer(incidents.close);
  const mounts = createMountService({
    ledger,
    fingerprint,
    registry,
    driverOf,
    driverNames,
    declaredBy: (name) => declaredBy("mounts", name),
    movingOn,
    stopping: ending.signal,
    sites: sites.registry,
    view,
    sync,
    audit: (entry) => mapWriteError(store.audit.append([entry])),
    lister,
    health: healthOf(sites, incidents),
  });
  incidents.onStatus(mounts.changed);
  processRounds({ sync, mounts, incidents, store, ledger, log });
  // Applies committed mounts to the sites immediately; after a gap of the feed, all mounts.
  const following = followFeed(feed, ending.signal, (commits) => {
    if (commits?.some(({ changes }) => changes.some(isMountChange)) === false) return;
    mounts.changed();
    sync.changed();
  });
  opened.defer(() => following);
  opened.defer(() => {
    ending.abort();
    // Listings that hang end here.
    lister.close();
  });
  const running = opened.move();
  return {
    mounts,
    incidents,
    reconcile: (siteId) =>
      void sync.reconcile(siteId).catch((error: unknown) => {
        log.error({ err: error }, "failed to follow mounts");
      }),
    endStreams: () => {
      ending.abort();
      incidents.endStreams();
    },
    close: () => running.disposeAsync(),
  };
}

/** Origin of work on sites, for audit and history. */
const WORKER = { actor: "mounts", transport: "", method: "mount", peer: "", requestId: "" };

/** Health of mounts, from the states of sites and the incidents. */
function healthOf(sites: MountParts["sites"], incidents: Incidents): MountServiceDeps["health"] {
  return {
    siteState: sites.registry.state,
    incidentAt: (siteId, path) => {
      const found = incidents.at(siteId, path);
      if (found === undefined) return undefined;
      return { cause: found.message, remedy: actionOf(found.class), since: found.openedAt };
    },
    remedyFor: (error) => actionOf(classify(error)),
    classOf: classify,
    isRefusal: needsUser,
  };
}

/** Processes each round of a site: its incidents, its entries in the logs, and content to adopt. */
function processRounds({
  sync,
  mounts,
  incidents,
  store,
  ledger,
  log,
}: {
  readonly sync: MountSync;
  readonly mounts: MountService;
  readonly incidents: Incidents;
  readonly store: MountParts["store"];
  readonly ledger: Ledger;
  readonly log: Logger;
}): void {
  const record = recordRounds({
    action: MOUNT_ACTION,
    worker: WORKER,
    store: store.sites,
    ledger,
    log,
  });
  sync.onRound((site, { rows }) => incidents.listed(site, rows));
  sync.onRound((site, { done }) => record(site, done));
  sync.onRound(async (site, { adopt }) => {
    if (Object.keys(adopt).length > 0)
      await mounts.adoptContent(site, adopt, { ...WORKER, reason: `content of ${site.name}` });
  });
}
