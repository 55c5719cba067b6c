import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { createTicks } from "../../ticks.ts";
import { dayOf, SHOWN_DAYS } from "./day.ts";
import type { SiteDay } from "./site-day.ts";
import type { DayStore } from "./store.ts";
import { type ShownDay, stripOfMount, stripOfSite } from "./strip.ts";

/** Position in the order of strips: sites by name, each followed by its mounts by path. */
export interface StripPlace {
  readonly site: string;
  /** Empty: the site itself. */
  readonly path: string;
}

/** Last days of a site or a mount, the oldest first. */
export interface Strip extends StripPlace {
  readonly siteId: string;
  readonly days: readonly ShownDay[];
}

/** Filter for strips; absent members match all. */
export interface StripFilter {
  readonly siteId?: string | undefined;
  readonly path?: string | undefined;
  readonly subject?: "site" | "mount" | undefined;
  /** Only sites and mounts that have failed in the shown days. */
  readonly failed: boolean;
  /** Only strips after this place. */
  readonly after?: StripPlace | undefined;
  readonly limit: number;
}

export interface DayServiceDeps {
  readonly store: Pick<DayStore, "siteDays" | "spans" | "mountDays">;
  readonly sites: Pick<SiteRegistry, "sites">;
  readonly now: () => number;
}

/** Reads the last days of sites and mounts, in any process. */
export interface DayService {
  /** @param signal ends it. */
  list(filter: StripFilter, signal?: AbortSignal): Promise<readonly Strip[]>;
}

/** Sites whose days are read at once. */
const SITES_AT_ONCE = 50;

export function createDayService({ store, sites, now }: DayServiceDeps): DayService {
  return {
    list: async (filter, signal) => {
      const ticks = createTicks(signal);
      const { siteId, after, limit } = filter;
      const requested = byName(sites.sites()).filter(
        ({ id, name }) =>
          (siteId === undefined || id === siteId) && (after === undefined || name >= after.site),
      );
      const strips: Strip[] = [];
      for (let at = 0; at < requested.length && strips.length < limit; at += SITES_AT_ONCE) {
        const part = requested.slice(at, at + SITES_AT_ONCE);
        const stored = await store.siteDays(part.map(({ id }) => id));
        const days = Map.groupBy(stored, (each) => each.siteId);
        for (const site of part) {
          if (strips.length >= limit) break;
          // A site of many mounts without failures is read whole; SQLite does so in one tick.
          signal?.throwIfAborted();
          if (ticks.isDue()) await ticks.next();
          const ofSite = new Map((days.get(site.id) ?? []).map((day) => [day.day, day]));
          strips.push(
            ...(await stripsOf(site, ofSite, { ...filter, limit: limit - strips.length })),
          );
        }
      }
      return strips;
    },
  };

  /** The strip of a site, and those of its mounts. */
  async function stripsOf(
    { id, name }: Pick<Site, "id" | "name">,
    siteDays: ReadonlyMap<number, SiteDay>,
    { path, subject, failed, after, limit }: StripFilter,
  ): Promise<readonly Strip[]> {
    const isContinued = after?.site === name;
    const strips: Strip[] = [];
    if (subject !== "mount" && path === undefined && !isContinued) {
      const days = stripOfSite(siteDays, now());
      if (!failed || hasFailed(days)) strips.push({ siteId: id, site: name, path: "", days });
    }
    if (subject === "site" || strips.length >= limit) return strips;
    const mounts = await mountStrips(id, siteDays, {
      path,
      failedSince: failed ? dayOf(now()) - SHOWN_DAYS + 1 : undefined,
      after: isContinued ? after.path : "",
      limit: limit - strips.length,
    });
    return [...strips, ...mounts.map((strip) => ({ ...strip, siteId: id, site: name }))];
  }

  async function mountStrips(
    siteId: string,
    siteDays: ReadonlyMap<number, SiteDay>,
    filter: Omit<Parameters<DayStore["spans"]>[0], "siteId">,
  ): Promise<readonly Pick<Strip, "path" | "days">[]> {
    const spans = await store.spans({ siteId, ...filter });
    const ended = await store.mountDays(
      siteId,
      spans.map((span) => span.path),
    );
    const byPath = Map.groupBy(ended, (day) => day.path);
    return spans.map((span) => ({
      path: span.path,
      days: stripOfMount(span, byPath.get(span.path) ?? [], siteDays, now()),
    }));
  }
}

function byName<T extends { readonly name: string }>(sites: readonly T[]): readonly T[] {
  return sites.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function hasFailed(days: readonly ShownDay[]): boolean {
  return days.some(({ failed }) => failed > 0);
}
