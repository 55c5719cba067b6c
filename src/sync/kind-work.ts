import type { Lease } from "../database/lease.ts";
import type { Adapter, Target } from "./adapter.ts";
import type { Controller } from "./controller.ts";

/** One kind of record, on all sites. */
export interface KindSync<T extends Target>
  extends Pick<Controller<T>, "exclusive" | "reconcile" | "retry" | "isDue"> {
  /** Reconciles sites after a change of their records. Failing sites keep their back-off. */
  changed(sites: readonly T[]): void;
  /**
   * Carries out stored requests, if this process has the lease or it is free.
   *
   * @returns after the sites with requests were reconciled.
   */
  requested(): Promise<void>;
}

export interface KindWorkDeps<T extends Target> {
  readonly lease: Lease;
  readonly siteOf: (siteId: string) => T | undefined;
  /** Reads the states of all kinds again: another process has written them. */
  readonly load: () => Promise<void>;
  /** Whether the reconciler was closed. */
  readonly isClosed: () => boolean;
  /** Receives the failures of work that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** One kind of record, as the reconciler runs it. */
export interface KindWork<T extends Target> {
  readonly adapter: Adapter<T>;
  readonly controller: Controller<T>;
  readonly sync: KindSync<T>;
  /** Starts the work that is due: stored requests, and sites. */
  begin(sites: readonly T[]): void;
}

export function createKindWork<T extends Target>(
  adapter: Adapter<T>,
  controller: Controller<T>,
  { lease, siteOf, load, isClosed, onError }: KindWorkDeps<T>,
): KindWork<T> {
  const inBackground = (work: Promise<unknown>): void => void work.catch(onError);
  const carryOut = async (): Promise<void> => {
    const { requests } = adapter;
    if (requests === undefined) return;
    const one = async (siteId: string): Promise<void> => {
      if (siteOf(siteId) === undefined || isClosed()) return;
      await controller.exclusive(siteId, () => requests.carryOut(siteId));
      await controller.retry(siteId);
    };
    await Promise.all([...(await requests.waiting())].map(one));
  };
  return {
    adapter,
    controller,
    begin: (sites) => {
      inBackground(carryOut());
      for (const site of sites)
        if (controller.isDue(site)) inBackground(controller.reconcile(site.id));
    },
    sync: {
      ...controller,
      changed: (sites) => {
        if (!lease.isHeld()) return;
        for (const { id, paused } of sites) if (!paused) inBackground(controller.reconcile(id));
      },
      requested: async () => {
        if (!lease.isHeld()) {
          // The first site was just added, or the process with the lease has ended.
          await lease.renew();
          if (lease.isHeld()) await load();
        }
        if (lease.isHeld()) await carryOut();
      },
    },
  };
}
