import type { AuditStore } from "../audit/store.ts";
import type { Config } from "../config/config.ts";
import { mapWriteError } from "../database/error.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { actionOf, classify } from "../incidents/incident.ts";
import { needsUser } from "../incidents/probe.ts";
import { type Incidents, startIncidents } from "../incidents/start.ts";
import type { IncidentStore } from "../incidents/store.ts";
import { followFeed } from "../ledger/feed.ts";
import { createTranslations } from "../messages/language.ts";
import { isMountChange } from "../mounts/kind.ts";
import type { MountService } from "../mounts/mount-service.ts";
import { createMountView } from "../mounts/mount-view.ts";
import { createMountService } from "../mounts/service.ts";
import { createLister } from "../mounts/site/listing.ts";
import { createMountRegistry } from "../mounts/site/registry.ts";
import { createMountSync, type MountSyncDeps } from "../mounts/site/sync.ts";
import { createSealer } from "../secrets/sealer.ts";
import { errorOf } from "../sites/site.ts";
import type { Sites } from "../sites/sites.ts";
import { MOUNT_ACTION, type SiteStore } from "../sites/store.ts";
import type { Declared } from "../state-file/declared.ts";
import type { RecordStateStore } from "../sync/record-registry.ts";
import type { Logger } from "../telemetry/log.ts";
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
  readonly log: Logger;
  /** Other intervals for the background work; undefined: those of the program. */
  readonly times?: MountTimes | undefined;
}

/** Intervals of the work on mounts and incidents, in milliseconds. */
export interface MountTimes {
  /** Interval of checking for due deliveries and listings. */
  readonly tick?: number;
  /** Interval between two lists of a site's mounts. */
  readonly read?: number;
  /** Polling interval of a stream of incidents. */
  readonly watch?: number;
  /** Time for which notifications of one cause are collected. */
  readonly digest?: number;
  /** Time without an answer after which a site is down. */
  readonly down?: number;
  /** Pauses between attempts of a notification. */
  readonly pauses?: readonly number[];
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
  { secretKeys, probeIntervalMs, webhookTargets }: Config,
  {
    sites,
    store,
    services,
    driverOf,
    driverNames,
    declaredBy,
    rulesFirst,
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
  const remedyFor = (error: string) => actionOf(classify(error));
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
  const incidents = await startIncidents({
    store: store.incidents,
    sites: sites.registry,
    isLeader: sites.sync.isLeader,
    declaredBy: (name) => declaredBy("webhooks", name),
    driverOf,
    sealer: createSealer(secretKeys),
    translations: createTranslations(),
    mountAt: view.nameAt,
    lister,
    listings: registry,
    siteFailure: (site) =>
      errorOf({ state: sites.registry.state(site.id), records: [mounts.onSites.ofSite(site)] }),
    siteReachedAt: ({ id }) => sites.registry.state(id).reachedAt,
    rowsOf: async ({ id }) => (await sync.read(id)).rows,
    record: (site, row, error) => sync.record(site.id, row, error, classify),
    probeInterval: probeIntervalMs,
    allowPrivate: webhookTargets === "any",
    now: Date.now,
    random: Math.random,
    onChange: (event, site, incident) => {
      const { id, subject, mountPath: mount, driver, class: cause, message: reason } = incident;
      const what =
        subject === "mount" ? `${mount} on ${site}` : `${subject} ${incident.name || site}`;
      log[event === "opened" ? "warn" : "info"](
        {
          kind: "incident",
          event,
          incident: id,
          subject,
          site,
          mount,
          driver,
          class: cause,
          reason,
        },
        `incident ${event}: ${what}: ${String(reason)}`,
      );
    },
    onLeftOut: ({ name: site }, mounts) =>
      log.warn({ site, mounts }, "too many failing mounts: these have no incidents"),
    onDisabled: (webhook) =>
      log.warn({ webhook }, "webhook disabled: its target answered 410 Gone"),
    onAttempt: (webhook, { id, type, state, status, attempts, error }) =>
      log[state === "failed" ? "warn" : "info"](
        { kind: "webhook", webhook, delivery: id, type, state, status, attempts, reason: error },
        `webhook ${webhook}: ${type} ${state}${String(error) === "" ? "" : `: ${String(error)}`}`,
      ),
    onError: (error) => log.error({ err: error }, "failed to follow incidents"),
    times: {
      ...(times.tick !== undefined && { tick: times.tick }),
      ...(times.watch !== undefined && { readInterval: times.watch }),
      ...(times.digest !== undefined && { digest: times.digest }),
      ...(times.down !== undefined && { down: times.down }),
      ...(times.pauses !== undefined && { pauses: times.pauses }),
    },
  });
  opened.defer(incidents.close);
  const mounts = createMountService({
    ledger,
    fingerprint,
    registry,
    driverOf,
    driverNames,
    declaredBy: (name) => declaredBy("mounts", name),
    stopping: ending.signal,
    sites: sites.registry,
    view,
    sync,
    audit: (entry) => mapWriteError(store.audit.append([entry])),
    lister,
    health: {
      siteState: sites.registry.state,
      incidentAt: (siteId, path) => {
        const found = incidents.at(siteId, path);
        if (found === undefined) return undefined;
        return { cause: found.message, remedy: actionOf(found.class), since: found.openedAt };
      },
      remedyFor,
      classOf: classify,
      isRefusal: needsUser,
    },
  });
  incidents.onStatus(mounts.changed);
  sync.onRound((site, { rows }) => incidents.listed(site, rows));
  const record = recordRounds({
    action: MOUNT_ACTION,
    worker: WORKER,
    store: store.sites,
    ledger,
    log,
  });
  sync.onRound((site, { done }) => record(site, done));
  sync.onRound(async (site, { adopt }) => {
    if (Object.keys(adopt).length > 0)
      await mounts.adoptContent(site, adopt, { ...WORKER, reason: `content of ${site.name}` });
  });
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
