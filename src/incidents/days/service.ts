import type { SiteRegistry } from "../../sites/registry.ts";
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
  list(filter: StripFilter): Promise<readonly Strip[]>;
}

export function createDayService({ store, sites, now }: DayServiceDeps): DayService {
  return {
    list: async ({ siteId, path, subject, failed, after, limit }) => {
      const time = now();
      const days = Map.groupBy(await store.siteDays(), (each) => each.siteId);
      const strips: Strip[] = [];
      for (const { id, name } of byName(sites.sites())) {
        if (siteId !== undefined && id !== siteId) continue;
        if (after !== undefined && name < after.site) continue;
        const isContinued = after?.site === name;
        const ofSite = new Map((days.get(id) ?? []).map((day) => [day.day, day]));
        if (subject !== "mount" && path === undefined && !isContinued) {
          const strip = stripOfSite(ofSite, time);
          if (!failed || hasFailed(strip))
            strips.push({ siteId: id, site: name, path: "", days: strip });
        }
        if (strips.length >= limit) return strips.slice(0, limit);
        if (subject === "site") continue;
        const found = await mountStrips(id, ofSite, {
          path,
          failedSince: failed ? dayOf(time) - SHOWN_DAYS + 1 : undefined,
          after: isContinued ? after.path : "",
          limit: limit - strips.length,
        });
        strips.push(...found.map((strip) => ({ ...strip, siteId: id, site: name })));
        if (strips.length >= limit) return strips;
      }
      return strips;
    },
  };

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
