import type { MountRegistry } from "../mounts/site/registry.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { type Condition, type Conditions, createConditions } from "./condition.ts";
import { listedMount } from "./days/listed-mount.ts";
import { DayRecorder } from "./days/recorder.ts";
import type { SiteObservation } from "./days/site-day.ts";
import { CLASSES, type Incident, type IncidentClass } from "./incident.ts";
import { createLeadership } from "./leadership.ts";
import { type ProbeDeps, Probes } from "./probe.ts";
import { createIncidentRegistry, type IncidentRegistryDeps } from "./registry.ts";
import type { IncidentStore } from "./store.ts";
import { createStoredIncidents } from "./stored-incidents.ts";
import { createWatchCondition, type WatchConditionDeps } from "./watch-condition.ts";
import type { Webhooks } from "./webhook/open.ts";
import { startIncidentWork } from "./work.ts";

export interface FollowDeps {
  readonly store: IncidentStore;
  readonly sites: Pick<SiteRegistry, "sites" | "byId">;
  /**
   * Whether this process has the lease of the work on sites. Only that process opens and closes
   * incidents, and sends notifications.
   */
  readonly isLeader: () => boolean;
  /** Results of listings, by probes and by users. */
  readonly listings: Pick<MountRegistry, "onListing">;
  readonly siteStates: Pick<WatchConditionDeps, "failureOf" | "reachedAt">;
  readonly tokens: WatchConditionDeps["tokens"];
  readonly probes: Omit<ProbeDeps, "now" | "random" | "onError">;
  readonly webhooks: Pick<Webhooks, "registry" | "deliverer">;
  /** Changes of incidents, and what they cause. */
  readonly changes: Omit<IncidentRegistryDeps, "driverOf" | "onLeftOut">;
  readonly driverOf: IncidentRegistryDeps["driverOf"];
  readonly onLeftOut: IncidentRegistryDeps["onLeftOut"];
  /** Called when another process has changed incidents of mounts. */
  readonly onOthers: () => void;
  readonly now: () => number;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
  /** Aborted when no further work begins. */
  readonly stopping: AbortSignal;
  /** Other interval of the work, in milliseconds. */
  readonly tick?: number | undefined;
  /** Other time without an answer after which a site is down, in milliseconds. */
  readonly down?: number | undefined;
}

/** Incidents of mounts, sites and tokens as they are observed. */
export interface IncidentFollower {
  /** Number of open incidents by class, if this process follows mounts; else 0. */
  counts(): Readonly<Record<IncidentClass, number>>;
  /** The open incident of a mount, in any process. */
  at(siteId: string, path: string): Incident | undefined;
  /** Processes a list of a site's mounts. */
  listed(site: Site, rows: readonly StorageRow[]): Promise<void>;
  /**
   * Opens, changes or closes the incident of a backup (or of a site or token), in any process.
   *
   * @param condition undefined: it works.
   */
  report: Conditions["report"];
  stop(): Promise<void>;
}

/** Starts to open and close incidents, to record days, and to send due notifications. */
export function followIncidents(deps: FollowDeps): IncidentFollower {
  const { store, sites, isLeader, changes, driverOf, now, random, onError } = deps;
  const registry = createIncidentRegistry({ ...changes, driverOf, onLeftOut: deps.onLeftOut });
  const { report } = createConditions(changes);
  const days = new DayRecorder({ store: store.days, now });
  const watching = createWatchCondition({
    store,
    report,
    sites: sites.sites,
    ...deps.siteStates,
    tokens: deps.tokens,
    now,
    onObserved: (site, condition) => days.observe(site.id, observationOf(site, condition)),
    down: deps.down,
  });
  const leading = createLeadership({ isLeader, registry, days, watching });
  deps.listings.onListing(async (siteId, path, listing) => {
    if (await leading()) await registry.probed(siteId, path, listing);
  });
  const probes = new Probes({ ...deps.probes, now, random, onError });
  const stored = createStoredIncidents(store, deps.onOthers);
  const work = startIncidentWork({
    isLeader,
    leading,
    store,
    sites,
    registry,
    days,
    targets: deps.webhooks.registry,
    watching,
    deliverer: deps.webhooks.deliverer,
    probes,
    stored,
    now,
    stopping: deps.stopping,
    onError,
    interval: deps.tick,
  });
  return {
    counts: () => countByClass(isLeader() ? registry.open() : []),
    at: (siteId, path) => (isLeader() ? registry.at(siteId, path) : stored.at(siteId, path)),
    listed: async (site, rows) => {
      if (!(await leading())) return;
      await registry.listed(site, rows);
      await days.listed(
        site.id,
        rows.map((row) => listedMount(row, registry.at(site.id, row.mount_path), driverOf)),
      );
      probes.listed(site, rows);
    },
    report,
    stop: work.stop,
  };
}

/** @param condition undefined: the site works. */
function observationOf(
  { paused }: Site,
  condition: Condition | undefined,
): Pick<SiteObservation, "state" | "reason"> {
  if (paused) return { state: "unmonitored", reason: "" };
  return condition === undefined
    ? { state: "works", reason: "" }
    : { state: "fails", reason: condition.message };
}

function countByClass(incidents: Iterable<Incident>): Record<IncidentClass, number> {
  const counts = Object.fromEntries(CLASSES.map((each) => [each, 0])) as Record<
    IncidentClass,
    number
  >;
  for (const incident of incidents) counts[incident.class] += 1;
  return counts;
}
