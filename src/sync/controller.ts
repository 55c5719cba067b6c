import { oneAtATime } from "../database/replica.ts";
import { message } from "../messages/message.ts";
import { waitAtMost } from "../pause.ts";
import { hasCome } from "../periodic.ts";
import type { Adapter, Failure, Job, Outcome, Target } from "./adapter.ts";
import { pauseAfter } from "./back-off.ts";
import type { Connections } from "./connections.ts";
import { isLasting, SiteFailure } from "./failure.ts";
import { createQueue } from "./queue.ts";

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
  const runs = new Map<string, ReturnType<typeof oneAtATime<void>>>();
  /** Each site as of its last attempt. */
  const attempted = new Map<string, { readonly site: T; readonly at: number }>();
  /** Next attempts: their times, and when they were planned. */
  const planned = new Map<string, { readonly at: number; readonly from: number }>();
  /** Sites that are tried despite a failure. */
  const forced = new Set<string>();
  let closed = false;

  const isPlannedDue = (siteId: string): boolean => {
    const { at, from } = planned.get(siteId) ?? { at: 0, from: 0 };
    return hasCome(at, { now: now(), longest: at - from });
  };
  const isChanged = (site: T): boolean => attempted.get(site.id)?.site !== site;
  const mayTry = (site: T, failure: Failure): boolean => {
    const last = attempted.get(site.id);
    // It has another address or token, or other work could reach it in the meantime.
    if (last !== undefined && (last.site !== site || deps.reachedAt(site.id) > last.at))
      return true;
    return !isLasting(failure) && hasCome(failure.nextTry, { now: now(), longest: PAUSES.longest });
  };
  const plan = (siteId: string, { requeueAfter, replans }: Outcome): void => {
    const next = { at: now() + requeueAfter, from: now() };
    const earlier = planned.get(siteId);
    const keeps = !replans && earlier !== undefined && !isPlannedDue(siteId);
    planned.set(siteId, keeps && earlier.at < next.at ? earlier : next);
  };
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
        attempted.set(siteId, { site, at: now() });
        try {
          const result = await run(release);
          const outcome = outcomeOf(result);
          if (outcome !== undefined) plan(siteId, outcome);
          deps.onReached(siteId);
          return result;
        } catch (error) {
          if (!(error instanceof SiteFailure)) throw error;
          release();
          attempted.set(siteId, { site, at: now() });
          const failure = failureAfter(siteId, error);
          await adapter.failed(site, failure, adapter.failureOf(siteId)?.kind !== failure.kind);
          throw error;
        }
      };
      const client = deps.connections.clientOf(site);
      return work({ site, client, isDue: isChanged(site) || isPlannedDue(siteId), attempt });
    });

  const reconcileOnce = async (siteId: string): Promise<void> => {
    // A save waits for the upstream.
    if (siteOf(siteId)?.upstream !== true) await deps.rateLimit();
    await exclusive(siteId, async (job) => {
      if (!deps.isLeader() || job.site.paused) return;
      const failure = adapter.failureOf(siteId);
      if (failure !== undefined && !forced.has(siteId) && !mayTry(job.site, failure)) return;
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
      if (failure !== undefined) return mayTry(site, failure);
      return isChanged(site) || isPlannedDue(site.id);
    },
    failureOf: adapter.failureOf,
    restart: () => planned.clear(),
    close: async () => {
      closed = true;
      await waitAtMost(2_000, queue.idle());
    },
  };
}
