import { message } from "../messages/message.ts";
import { createWaiter, type Waiter } from "../waiter.ts";
import type { Adapter, Failure, Job, Target } from "./adapter.ts";
import { SiteFailure } from "./failure.ts";
import { forwardChange } from "./forward.ts";
import type { RecordRegistry } from "./record-registry.ts";
import type { StateRequest } from "./record-request.ts";
import type { SiteRecords } from "./site-records.ts";
import type { Sync } from "./sync.ts";

/** Error of a round that must stop: another process follows the sites now. */
export class LeaseLost extends Error {}

export interface RoundOptions {
  readonly siteId: string;
  /** `read`: a round without writes. `push`: writes the records of `forced`, and all if the site follows. */
  readonly aim: "read" | "push";
  /** Names of records that are tried despite earlier failures. */
  readonly forced: readonly string[];
}

export interface RecordSyncDeps<T extends Target, S, Q extends SiteRecords, L, R> {
  readonly sync: Sync<T>;
  readonly sites: { sites(): readonly T[]; byId(siteId: string): T | undefined };
  readonly registry: RecordRegistry<S, Q, L>;
  /** Maximum number of sites with concurrent work. */
  readonly concurrency: number;
  /**
   * Reads the records of a site, and writes those that differ.
   *
   * @param registry stores nothing in a round without writes. @throws SiteFailure; LeaseLost.
   */
  readonly round: (site: T, options: RoundOptions, registry: RecordRegistry<S, Q, L>) => Promise<R>;
  /** Milliseconds until the next round of a site. */
  readonly pauseAfter: (siteId: string, round: R) => number;
  /** Reports whether work on a record is still in progress. @param state undefined: not begun. */
  readonly isOpen: (state: S | undefined) => boolean;
  /** Maximum wait for the work of another process, in milliseconds. */
  readonly maxWait: number;
  readonly onError: (error: unknown) => void;
}

/** Listener of rounds in the background. The next round of the site waits for it. */
export type RoundListener<T, R> = (site: T, round: R) => void | Promise<void>;

/** Reconciler of the records of one kind. */
export interface RecordSync<T extends Target, S, L, R> {
  /** Calls the listener after each round in the background, in the order of the listeners. */
  onRound(listener: RoundListener<T, R>): void;
  /** Reconciles the sites after a change of records. */
  changed(): void;
  /** Reconciles a site, or shares the next run. */
  reconcile(siteId: string): Promise<void>;
  /** Reads a site's records without writing to the site. @throws SiteFailure. */
  read(siteId: string): Promise<R>;
  /**
   * Requests a push of records, or stores the states of adopted ones. Failed and paused records are
   * retried, and a site with existing records is written to from now on. The process with the lease
   * carries out the request.
   */
  request(siteId: string, request: StateRequest<S, L>): Promise<void>;
  /**
   * Pushes records to a site, and waits for the result. A second round reads the result of the first
   * one to confirm it. If another process has the lease, this waits for that process.
   *
   * @param signal ends it: nothing more is requested. @throws SiteFailure; the reason of the signal.
   */
  push(siteId: string, names: readonly string[], signal?: AbortSignal): Promise<void>;
  /**
   * Waits until the states that another process writes fulfil a condition, which is checked each
   * time they were read.
   *
   * @param most longest wait, in milliseconds. @param signal ends the wait.
   */
  waitFor(
    isDone: () => boolean | Promise<boolean>,
    most: number,
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * Forwards a change that a user makes on the server's own pages, then reads the site's records. No
   * round runs in between, which would revert the change.
   *
   * @param send sends the request, after at most 5 s even if a round is still running.
   * @param adopt adopts the change, and returns the states of the adopted records.
   */
  forward(
    siteId: string,
    send: () => Promise<void>,
    adopt: (round: R) => Promise<StateRequest<S, L>["states"]>,
  ): Promise<void>;
}

/** Maximum number of rounds of a push. */
const ROUNDS = 3;

/** Adds a kind of record to the reconciler of sites. */
export function createRecordSync<T extends Target, S, Q extends SiteRecords, L, R>(
  deps: RecordSyncDeps<T, S, Q, L, R>,
): RecordSync<T, S, L, R> {
  const { sync, sites, registry } = deps;
  const listeners: RoundListener<T, R>[] = [];
  /** Event of states that were read again: in a process without the lease, at each tick. */
  const loaded = createWaiter();
  const kind = sync.add(createAdapter(deps, listeners, loaded));
  const knownSite = (siteId: string): T => {
    const site = sites.byId(siteId);
    if (site === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    return site;
  };
  const read = async (siteId: string): Promise<R> => {
    const unchanged = { ...registry, put: async () => undefined };
    return deps.round(knownSite(siteId), { siteId, aim: "read", forced: [] }, unchanged);
  };
  const request: RecordSync<T, S, L, R>["request"] = async (siteId, given) => {
    await registry.request(knownSite(siteId).id, given);
    await kind.requested();
  };
  /** Whether the process with the lease has not carried out a push of these records yet. */
  const isRequested = async (siteId: string, names: readonly string[]): Promise<boolean> => {
    if ((await registry.requested()).has(siteId)) return true;
    // It stores what it takes over before it removes the request: states read before lack that.
    await registry.load();
    return registry.site(siteId).forced.some((name) => names.includes(name));
  };
  const waitFor: RecordSync<T, S, L, R>["waitFor"] = async (isDone, most, signal) => {
    const end = performance.now() + most;
    const waiting = loaded.join(signal === undefined ? [] : [signal]);
    try {
      while (!(await isDone())) {
        signal?.throwIfAborted();
        const left = end - performance.now();
        if (left <= 0 || !(await waiting.next(left))) return;
      }
    } finally {
      waiting.close();
    }
  };
  const push: RecordSync<T, S, L, R>["push"] = async (siteId, names, signal) => {
    const isOpen = (name: string): boolean => deps.isOpen(registry.records(siteId).get(name));
    let open: readonly string[] = names;
    for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
      signal?.throwIfAborted();
      const asked = open;
      await request(siteId, { forced: asked, states: {} });
      if (sync.isLeader()) await kind.reconcile(siteId);
      else
        await waitFor(
          async () => !(await isRequested(siteId, asked)) && !asked.some(isOpen),
          deps.maxWait,
          signal,
        );
      open = open.filter(isOpen);
    }
  };
  return {
    waitFor,
    onRound: (listener) => void listeners.push(listener),
    changed: () => kind.changed(sites.sites()),
    reconcile: kind.reconcile,
    read,
    request,
    push,
    forward: (siteId, send, adopt) =>
      forwardChange(kind.exclusive, siteId, {
        send,
        adopt: async () => {
          const states = await adopt(await read(siteId));
          // Stored before the next round, which would revert the adopted change.
          if (Object.keys(states).length === 0) return;
          await registry.request(siteId, { forced: [], states });
          if (sync.isLeader()) await registry.carryOut(siteId);
        },
        onError: deps.onError,
      }),
  };
}

/** The kind for the reconciler. @param loaded event that is notified when states were read. */
function createAdapter<T extends Target, S, Q extends SiteRecords, L, R>(
  { registry, ...deps }: RecordSyncDeps<T, S, Q, L, R>,
  listeners: readonly RoundListener<T, R>[],
  loaded: Pick<Waiter, "notify">,
): Adapter<T> {
  /** @returns undefined: another process has the lease now. */
  const runRound = async (site: T): Promise<{ readonly round: R } | undefined> => {
    const { id: siteId } = site;
    const { forced } = registry.site(siteId);
    try {
      return { round: await deps.round(site, { siteId, aim: "push", forced }, registry) };
    } catch (error) {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    }
  };
  return {
    concurrency: deps.concurrency,
    failureOf: (siteId): Failure | undefined => {
      const site = registry.site(siteId);
      const { error, errorKind: kind, errorSince: since, failures, nextTry } = site;
      return error === "" ? undefined : { kind, message: error, since, failures, nextTry };
    },
    failed: async ({ id }, { kind, message: error, since, failures, nextTry }) => {
      const failure = { error, errorKind: kind, errorSince: since, failures, nextTry };
      await registry.put(id, { site: { ...registry.site(id), ...failure } });
    },
    reconcile: async ({ site, attempt }: Job<T>) => {
      const done = await attempt(
        () => runRound(site),
        (result) =>
          result && { requeueAfter: deps.pauseAfter(site.id, result.round), replans: true },
      );
      if (done === undefined) return;
      for (const listener of listeners) await listener(site, done.round);
    },
    load: async () => {
      await registry.load();
      loaded.notify();
    },
    requests: { waiting: registry.requested, carryOut: registry.carryOut },
  };
}
