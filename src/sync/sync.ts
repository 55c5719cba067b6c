import type { Lease } from "../database/lease.ts";
import { startPeriodic } from "../periodic.ts";
import { createRateLimit } from "../rate-limit.ts";
import type { Adapter, Failure, Target } from "./adapter.ts";
import type { SiteClient } from "./client.ts";
import { createConnections } from "./connections.ts";
import { createController } from "./controller.ts";
import { createKindWork, type KindSync, type KindWork } from "./kind-work.ts";
import { createProbes } from "./probe.ts";

/** Interval of checks for due work, in milliseconds. */
const TICK = 1_000;
/** Maximum number of kinds of records. */
const MAX_KINDS = 4;
/**
 * Connections to one site. Work of one kind makes one call at a time; a call that hangs must not
 * delay the other kinds, nor calls outside of the work on records.
 */
const CONNECTIONS = MAX_KINDS + 1;

/** Intervals of the work on sites, in milliseconds. Default: those of the program. */
export interface SyncTimes {
  readonly tick?: number;
  /** Default time limit of a call. */
  readonly call?: number;
  /** Between two probes of a site that does not answer. */
  readonly probe?: number;
}

export interface SyncDeps<T extends Target> {
  /** Lease of the one process that writes to sites. */
  readonly lease: Lease;
  readonly sites: {
    sites(): readonly T[];
    byId(siteId: string): T | undefined;
    /** Reads changes of other processes. */
    load(): Promise<void>;
  };
  /** Reports whether a site answers. */
  readonly probe: (site: T) => Promise<boolean>;
  readonly now: () => number;
  readonly random: () => number;
  /** Failure of the database, or an unexpected one. */
  readonly onError: (error: unknown) => void;
  readonly times?: SyncTimes | undefined;
}

/**
 * Reconciler of all sites: the process with the lease brings the records of each kind to them, after
 * changes and at intervals.
 */
export interface Sync<T extends Target> {
  /** Adds a kind of record. */
  add(adapter: Adapter<T>): KindSync<T>;
  /** The client of a site; its calls are not exclusive. */
  clientOf(site: T): SiteClient;
  /** Whether this process has the lease. */
  isLeader(): boolean;
  /** Starts the work: called once, after all kinds were added. */
  start(): Promise<void>;
  /** Takes the lease if it is free, and reconciles the sites that are due. */
  tick(): Promise<void>;
  close(): Promise<void>;
}

export function createSync<T extends Target>(deps: SyncDeps<T>): Sync<T> {
  const { lease, sites, now, onError, times = {} } = deps;
  const connections = createConnections<T>(CONNECTIONS, times.call);
  const rateLimit = createRateLimit();
  const kinds: KindWork<T>[] = [];
  const reached = new Map<string, number>();
  let isClosed = false;
  const isLeader = (): boolean => lease.isHeld() && !isClosed;

  const failureOf = ({ id }: T): Failure | undefined =>
    kinds.map(({ controller }) => controller.failureOf(id)).find((found) => found !== undefined);
  const retry = async ({ id }: T): Promise<void> => {
    const failing = kinds.filter(({ controller }) => controller.failureOf(id) !== undefined);
    await Promise.all(failing.map(({ controller }) => controller.retry(id)));
  };
  const runProbes = createProbes<T>({
    failureOf,
    retry,
    now,
    probe: deps.probe,
    interval: times.probe,
  });
  const load = async (): Promise<void> => {
    for (const { adapter } of kinds) await adapter.load?.();
  };
  const tick = async (): Promise<void> => {
    await sites.load();
    const all = sites.sites();
    if (all.length === 0 || isClosed) return;
    const wasHeld = lease.isHeld();
    await lease.renew();
    // Another process has written the states until now, or does so from now on.
    if (!wasHeld || !lease.isHeld()) await load();
    if (!lease.isHeld()) return;
    for (const kind of kinds) {
      // The previous holder may have left unfinished work.
      if (!wasHeld) kind.controller.restart();
      kind.begin(all);
    }
    void runProbes(all).catch(onError);
  };
  let job: ReturnType<typeof startPeriodic> | undefined;
  return {
    add: (adapter) => {
      if (kinds.length === MAX_KINDS) throw new Error("more kinds of records than connections");
      const controller = createController(adapter, {
        siteOf: sites.byId,
        connections,
        isLeader,
        rateLimit,
        reachedAt: (siteId) => reached.get(siteId) ?? 0,
        onReached: (siteId) => void reached.set(siteId, now()),
        now,
        random: deps.random,
      });
      const kind = createKindWork(adapter, controller, {
        lease,
        siteOf: sites.byId,
        load,
        isClosed: () => isClosed,
        onError,
      });
      kinds.push(kind);
      return kind.sync;
    },
    clientOf: connections.clientOf,
    isLeader,
    start: async () => {
      await load();
      await tick();
      job = startPeriodic(tick, { interval: times.tick ?? TICK, onError });
    },
    tick,
    close: async () => {
      isClosed = true;
      await job?.stop();
      connections.close();
      await Promise.all(kinds.map(({ controller }) => controller.close()));
      await lease.release().catch(onError);
    },
  };
}
