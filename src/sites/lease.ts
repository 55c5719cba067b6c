import type { SiteStore } from "./store.ts";

/** Duration of a lease without renewal, and interval of renewals, in milliseconds. */
const TTL = 6_000;
const RENEWAL = 2_000;

/** Work that one process of all on a database does at a time. */
export interface Lease {
  isHeld(): boolean;
  /** Takes or renews it when it is time to. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

/** @param holder names this process among all on the database. */
export function createLease(
  store: Pick<SiteStore, "lease" | "release">,
  {
    name,
    holder,
    now,
  }: { readonly name: string; readonly holder: string; readonly now: () => number },
): Lease {
  let until = 0;
  let next = 0;
  return {
    // A margin: who could not renew stops before another one begins.
    isHeld: () => now() < until - 1_000,
    renew: async () => {
      const at = now();
      if (at < next) return;
      next = at + RENEWAL;
      until = (await store.lease(name, holder, at, TTL)) ? at + TTL : 0;
    },
    release: async () => {
      until = 0;
      await store.release(name, holder);
    },
  };
}
