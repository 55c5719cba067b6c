import { waitAtMost } from "../pause.ts";
import { startPeriodic } from "../periodic.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { DayRecorder } from "./days/recorder.ts";
import type { Probes } from "./probe.ts";
import type { IncidentRegistry } from "./registry.ts";
import type { IncidentStore } from "./store.ts";
import type { StoredIncidents } from "./stored-incidents.ts";
import type { WatchCondition } from "./watch-condition.ts";
import type { Deliverer } from "./webhook/deliver.ts";
import type { WebhookRegistry } from "./webhook/registry.ts";

/** Interval of checking for due deliveries and listings, in milliseconds. */
const INTERVAL = 1_000;
/** Interval of deleting old rows, in milliseconds. */
const FORGET = 3_600_000;
/** Retention of closed incidents and deliveries, in milliseconds. */
const KEPT = 90 * 86_400_000;
/** Maximum time for which the end waits for deliveries and listings, in milliseconds. */
const END = 1_000;

export interface IncidentWorkDeps {
  readonly isLeader: () => boolean;
  readonly leading: () => Promise<boolean>;
  readonly store: Pick<IncidentStore, "forget">;
  readonly sites: Pick<SiteRegistry, "byId">;
  readonly registry: Pick<IncidentRegistry, "forgetSites">;
  readonly days: Pick<DayRecorder, "forget" | "store">;
  readonly targets: Pick<WebhookRegistry, "load">;
  readonly watching: Pick<WatchCondition, "run">;
  readonly deliverer: Deliverer;
  readonly probes: Pick<Probes, "run">;
  readonly stored: Pick<StoredIncidents, "read">;
  readonly now: () => number;
  /** Aborted when no further work begins. */
  readonly stopping: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** Other interval, for tests. */
  readonly interval?: number | undefined;
}

/** Periodic work on incidents. */
export interface IncidentWork {
  /** Stores what is in memory, if this process has the lease. */
  stop(): Promise<void>;
}

/** Starts the periodic work on incidents. */
export function startIncidentWork(deps: IncidentWorkDeps): IncidentWork {
  const { now, days, stopping, onError } = deps;
  const isSite = (siteId: string): boolean => deps.sites.byId(siteId) !== undefined;
  let forgotten = 0;
  const running = new Set<Promise<void>>();
  const runInBackground = (work: Promise<void>): void => {
    const mine = work.catch(onError).finally(() => running.delete(mine));
    running.add(mine);
  };
  const run = async (): Promise<void> => {
    if (stopping.aborted) return;
    if (!(await deps.leading())) {
      await deps.stored.read();
      return;
    }
    await deps.targets.load();
    await deps.registry.forgetSites(isSite);
    if (Math.abs(now() - forgotten) >= FORGET) {
      forgotten = now();
      await deps.store.forget(now() - KEPT);
      await days.forget(isSite);
    }
    await deps.watching.run();
    await days.store();
    runInBackground(deps.deliverer.run());
    runInBackground(deps.probes.run());
  };
  const job = startPeriodic(run, { interval: deps.interval ?? INTERVAL, onError });
  return {
    stop: async () => {
      await job.stop();
      if (deps.isLeader()) await days.store().catch(onError);
      // A listing may take two minutes; the creator of the site's connection closes it.
      await waitAtMost(END, Promise.all(running));
    },
  };
}
