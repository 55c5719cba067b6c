import { oneAtATime } from "../database/replica.ts";
import { message } from "../messages/message.ts";
import { waitAtMost } from "../pause.ts";
import type { Adapter, Failure, Job, Target } from "./adapter.ts";
import { pauseAfter } from "./back-off.ts";
import type { Connections } from "./connections.ts";
import { SiteFailure } from "./failure.ts";
import { createQueue } from "./queue.ts";
import { Schedule } from "./schedule.ts";

/** Pauses after a failed attempt to reach a site, in milliseconds. */
const PAUSES = { first: 1_000, longest: 60_000 };

export interface ControllerDeps<T extends Target> {
  readonly siteOf: (siteId: string) => T | undefined;
  readonly connections: Connections<T>;
  readonly isLeader: () => boolean;
  /** Resolves when work on the next site may start, after other work of the process. */
  readonly rateLimit: () => Promise<void>;
  /** Time at which work of any kind has last reached a site; 0: not yet. */
  readonly reachedAt: (siteId: string) => number;
  readonly onReached: (siteId: string) => void;
  readonly now: () => number;
  readonly random: () => number;
}

/** Work on the records of one kind on all sites: one job at a time per site. */
export interface Controller<T extends Target> {
  /**
   * Runs work on a site after all earlier work on it.
   *
   * @throws what the work throws; SiteFailure when the site was deleted.
   */
  exclusive<R>(siteId: string, work: (job: Job<T>) => Promise<R>): Promise<R>;
  /**
   * Reconciles a site if this process has the lease and the site has no failure with a later next
   * attempt. Concurrent callers share the next run.
   */
  reconcile(siteId: string): Promise<void>;
  /** Like `reconcile`, despite an earlier failure. A further one begins its pauses again. */
  retry(siteId: string): Promise<void>;
  /** Reports whether a site is due. */
  isDue(site: T): boolean;
  /** Whether attempts to reach a site fail. */
  failureOf(siteId: string): Failure | undefined;
  /** Makes all sites due: another process has worked on them. */
  restart(): void;
  close(): Promise<void>;
}

export function createController<T extends Target>(
  adapter: Adapter<T>,
  deps: ControllerDeps<T>,
): Controller<T> {
  const { siteOf, now } = deps;
  const queue = createQueue(adapter.concurrency);
  const schedule = new Schedule<T>({ ...deps, longestPause: PAUSES.longest });
  const runs = new Map<string, ReturnType<typeof oneAtATime<void>>>();
  /** Sites that are tried despite a failure. */
  const forced = new Set<string>();
  let closed = false;
  const failureAfter = (siteId: string, { kind, text }: SiteFailure): Failure => {
    const time = now();
    const before = adapter.failureOf(siteId);
    const failures = forced.has(siteId) ? 1 : (before?.failures ?? 0) + 1;
    const pause = pauseAfter(failures, PAUSES);
    return {
      kind,
      message: text,
      failures,
      nextTry: time + Math.round(pause * (0.5 + deps.random() / 2)),
      since: before?.kind === kind && before.since > 0 ? before.since : time,
    };
  };
  const exclusive: Controller<T>["exclusive"] = (siteId, work) =>
    queue.run(siteId, async (release) => {
      const site = siteOf(siteId);
      if (site === undefined || closed) throw new SiteFailure("refused", message("SITE_GONE"));
      const attempt: Job<T>["attempt"] = async (run, outcomeOf) => {
        schedule.attempted(site);
        try {
          const result = await run(release);
          const outcome = outcomeOf(result);
          if (outcome !== undefined) schedule.plan(siteId, outcome);
          deps.onReached(siteId);
          return result;
        } catch (error) {
          if (!(error instanceof SiteFailure)) throw error;
          release();
          schedule.attempted(site);
          const failure = failureAfter(siteId, error);
          await adapter.failed(site, failure, adapter.failureOf(siteId)?.kind !== failure.kind);
          throw error;
        }
      };
      const client = deps.connections.clientOf(site);
      return work({ site, client, isDue: schedule.isDue(site), attempt });
    });

  const reconcileOnce = async (siteId: string): Promise<void> => {
    // A save waits for the upstream.
    if (siteOf(siteId)?.upstream !== true) await deps.rateLimit();
    await exclusive(siteId, async (job) => {
      if (!deps.isLeader() || job.site.paused) return;
      const failure = adapter.failureOf(siteId);
      if (failure !== undefined && !forced.has(siteId) && !schedule.mayRetry(job.site, failure))
        return;
      await adapter.reconcile(job);
    }).catch((error: unknown) => {
      if (!(error instanceof SiteFailure)) throw error;
    });
  };
  const reconcile = (siteId: string): Promise<void> => {
    const run = runs.get(siteId) ?? oneAtATime(() => reconcileOnce(siteId));
    runs.set(siteId, run);
    return run.run();
  };
  return {
    exclusive,
    reconcile,
    retry: (siteId) => {
      forced.add(siteId);
      return reconcile(siteId).finally(() => forced.delete(siteId));
    },
    isDue: (site) => {
      if (site.paused || runs.get(site.id)?.isRunning() === true) return false;
      const failure = adapter.failureOf(site.id);
      if (failure !== undefined) return schedule.mayRetry(site, failure);
      return schedule.isDue(site);
    },
    failureOf: adapter.failureOf,
    restart: () => schedule.restart(),
    close: async () => {
      closed = true;
      await waitAtMost(2_000, queue.idle());
    },
  };
}
