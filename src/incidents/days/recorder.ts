import { createTicks } from "../../ticks.ts";
import { PendingChanges } from "./pending-changes.ts";
import { type ListedMount, RecordedSite } from "./recorded-site.ts";
import type { SiteObservation } from "./site-day.ts";
import type { DayStore } from "./store.ts";

/** Changes of mounts per transaction. */
const STORED_AT_ONCE = 100;

export interface DayRecorderDeps {
  readonly store: Pick<DayStore, "write" | "siteDays" | "allSpans" | "forgetSites">;
  readonly now: () => number;
}

/**
 * Records the days of sites and mounts, in the process with the lease. A site is one row a day, written
 * once a minute; a mount is written when its state changes, and once a day unless it works.
 */
export class DayRecorder {
  readonly #store: DayRecorderDeps["store"];
  readonly #now: () => number;
  #sites = new Map<string, RecordedSite>();
  #pending = new PendingChanges();

  constructor({ store, now }: DayRecorderDeps) {
    this.#store = store;
    this.#now = now;
  }

  /** Reads what another process has stored, and begins anew. */
  async load(): Promise<void> {
    const [days, spans] = await Promise.all([this.#store.siteDays(), this.#store.allSpans()]);
    this.#sites = new Map();
    this.#pending = new PendingChanges();
    for (const day of days) this.#site(day.siteId).loadDay(day);
    for (const span of spans) this.#site(span.siteId).loadSpan(span);
  }

  /** Records an observation of a site. */
  observe(siteId: string, observation: Pick<SiteObservation, "state" | "reason">): void {
    this.#site(siteId).observe(observation);
  }

  /** Records a list of a site's mounts, in ticks of the event loop. */
  async listed(siteId: string, mounts: readonly ListedMount[]): Promise<void> {
    const site = this.#site(siteId);
    await site.listed(mounts, () => this.#sites.get(siteId) === site);
  }

  /** Stores what was recorded. Ends early if another process has had the lease meanwhile. */
  async store(): Promise<void> {
    const time = this.#now();
    const ticks = createTicks();
    const pending = this.#pending;
    const due = [...this.#sites.values()].filter((site) => site.daysToStore(time).length > 0);
    // The clocks of sites are stored before the times of mounts on them.
    while (due.length > 0 || !pending.isEmpty) {
      const sites = due
        .splice(0, STORED_AT_ONCE)
        .map((site) => ({ site, days: site.daysToStore(time) }));
      const part = pending.first(STORED_AT_ONCE);
      await this.#store.write({ sites: sites.flatMap(({ days }) => days), ...part });
      if (pending !== this.#pending) return;
      for (const { site, days } of sites) site.markStored(days, time);
      pending.remove(part);
      // SQLite writes without leaving the tick.
      await ticks.next();
      if (pending !== this.#pending) return;
    }
  }

  /** Removes the oldest days, mounts that are gone since an earlier day, and removed sites. */
  async forget(isKnown: (siteId: string) => boolean): Promise<void> {
    for (const [siteId, site] of [...this.#sites]) {
      if (isKnown(siteId)) site.forgetOld();
      else {
        this.#sites.delete(siteId);
        this.#pending.deleteSite(siteId);
      }
    }
    await this.#store.forgetSites();
  }

  #site(siteId: string): RecordedSite {
    const known = this.#sites.get(siteId);
    if (known !== undefined) return known;
    const site = new RecordedSite(siteId, this.#pending, this.#now);
    this.#sites.set(siteId, site);
    return site;
  }
}
