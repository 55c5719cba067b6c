import type { AuditEntry } from "../audit/store.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { deleteRecords } from "../records/delete.ts";
import { affectedByFollowing } from "../records/effect.ts";
import { leaveDeletedSite } from "../records/leave.ts";
import { createRecordFeed } from "../records/watch.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import { createSummaries, type Summaries } from "../sites/summary.ts";
import { createMountChanges } from "./changes.ts";
import { effectsOfFollowing, type RunningSite } from "./effect.ts";
import { mountsKind } from "./history-kind.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { Mount } from "./mount.ts";
import type { MountHealth, MountService } from "./mount-service.ts";
import type { MountView } from "./mount-view.ts";
import { nameByPath } from "./name-by-path.ts";
import type { Lister } from "./site/listing.ts";
import type { MountRegistry } from "./site/registry.ts";
import type { MountSync } from "./site/sync.ts";
import { type Status, type StatusSources, statusOf } from "./status.ts";
import { adoptMounts } from "./use-case/adopt.ts";
import { copyMount } from "./use-case/copy.ts";
import { mountCoverage } from "./use-case/coverage.ts";
import { exportMounts } from "./use-case/export.ts";
import { renameMount } from "./use-case/rename.ts";
import { replaceCredential } from "./use-case/replace.ts";
import { saveMounts } from "./use-case/save.ts";
import { compareMounts, syncMounts } from "./use-case/sync.ts";
import { listTargets, testOfMounts } from "./use-case/test.ts";
import { isSameWatched, type WatchedMount, type WatchedSource } from "./watch.ts";

export interface MountServiceDeps {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "load" | "state">;
  readonly view: MountView;
  readonly sync: Pick<MountSync, "read" | "request" | "push" | "forward" | "record">;
  readonly registry: MountRegistry;
  /** Listings of mounts at their providers. */
  readonly lister: Pick<Lister, "list" | "accountOf">;
  readonly health: MountHealth;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  /** File that declares a mount; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  /** `opensWhenMoved` of a site. */
  readonly movingOn: (site: Pick<Site, "id">) => RunningSite["opensWhenMoved"];
  /** Aborted when streams are to end. */
  readonly stopping: AbortSignal;
  /** Records a request that changes nothing in Mooring. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** Composes the use cases of mounts. */
export function createMountService(deps: MountServiceDeps): MountService {
  const { ledger, registry, sites, view, driverOf } = deps;
  const sources: StatusSources = { ...deps.health, registry };
  const changes = createMountChanges(deps);
  const nameOf = nameByPath(view.all);
  const statusOn = (mount: Mount, site: Site): Status => statusOf(mount, site, sources);
  const list = listTargets({ ...deps, statusOn });
  const statuses = (mount: Mount): readonly Status[] =>
    sites
      .sites()
      .filter(({ id }) => isOnSite(mount, id))
      .map((site) => statusOn(mount, site));
  const feed = createFeed(deps, statuses);
  const summaries = createMountSummaries(deps, statusOn);
  const listeners = new Set<() => void>();
  const changed = (siteId?: string): void => {
    summaries.forget(siteId);
    feed.changed();
    for (const listener of listeners) listener();
  };
  registry.onChange(changed);
  const onStatus = (listener: () => void): void => void listeners.add(listener);
  return {
    revision: () => ledger.snapshot().revision,
    etagOf: changes.etagOf,
    nameOf,
    list: async (grant, site = "") => {
      if (site === "") return changes.readable(grant);
      const { id } = await changes.siteNamed(site);
      return changes.readable(grant).filter((mount) => isOnSite(mount, id));
    },
    get: (name, grant) => changes.require(grant, view.all().get(name), name),
    saved: (names) => [...names].flatMap((name) => view.all().get(name) ?? []),
    statuses,
    siteCount: () => sites.sites().length,
    coverage: mountCoverage({ view, sites, registry, sources }),
    watch: feed.watch,
    onStatus,
    changed: () => changed(),
    declaredBy: changes.declaredBy,
    running: changes.running,
    kind: mountsKind({
      mounts: view.all,
      sites: sites.names,
      running: changes.running,
      driverOf,
      nameOf,
      managedBy: changes.declaredBy,
    }),
    save: saveMounts(changes),
    replace: replaceCredential(changes, sites),
    copy: copyMount(changes, deps),
    rename: renameMount(changes, deps),
    delete: deleteRecords(SITE_MOUNTS, changes, "names"),
    export: exportMounts(changes, deps),
    compare: compareMounts(changes, deps),
    sync: syncMounts(changes, { ...deps, statusOn, list }),
    test: testOfMounts(changes, { ...deps, list }),
    ...adoptMounts(changes, deps),
    onSites: {
      kind: "mount",
      ofSite: summaries.ofSite,
      onStatus,
      leave: leaveDeletedSite(SITE_MOUNTS, {
        ...deps,
        all: view.all,
        refuseManaged: changes.refuseManaged,
      }),
      affected: affectedByFollowing(registry, (site) =>
        effectsOfFollowing(site, view.all(), registry.records(site.id)),
      ),
    },
  };
}

/** Streams of mounts with their statuses. */
function createFeed(
  { ledger, view, sites, driverOf, driverNames, stopping }: MountServiceDeps,
  statuses: (mount: Mount) => readonly Status[],
) {
  const source = (): WatchedSource => ({
    snapshot: ledger.snapshot(),
    sites: sites.sites(),
    driverNames: driverNames(),
  });
  const shown = (mount: Mount): WatchedMount => ({
    mount,
    driver: driverOf(mount.driver),
    statuses: statuses(mount),
  });
  return createRecordFeed({ source, records: view.all, shown, isSame: isSameWatched }, stopping);
}

function createMountSummaries(
  { view, registry, health }: MountServiceDeps,
  statusOn: (mount: Mount, site: Site) => Status,
): Summaries {
  return createSummaries({
    kind: "mount",
    records: view.all,
    statusOf: statusOn,
    siteRecordsOf: registry.site,
    stateOf: health.siteState,
  });
}
