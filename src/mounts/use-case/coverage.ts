import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite, pathOn } from "../../sites/site-choice.ts";
import { createTicks } from "../../ticks.ts";
import type { Mount } from "../mount.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";
import type { MountRegistry } from "../site/registry.ts";
import { type StatusSources, statusOf, unreadSite } from "../status.ts";

type Coverage = Awaited<ReturnType<MountService["coverage"]>>;
type Looked = Coverage["mounts"][number];

export interface CoverageDeps {
  readonly view: Pick<MountView, "all">;
  readonly sites: Pick<SiteRegistry, "sites">;
  readonly registry: MountRegistry;
  readonly sources: StatusSources;
}

/** Enabled mounts on sites, Mooring's and others, with what is known about them. */
export function mountCoverage({
  view,
  sites,
  registry,
  sources,
}: CoverageDeps): MountService["coverage"] {
  const ownOf = (site: Site, mount: Mount): Coverage["mounts"] => {
    if (mount.disabled || !isOnSite(mount, site.id)) return [];
    const { state, listedAt } = statusOf(mount, site, sources);
    const isFailing = state === "failing" || state === "stuck";
    return [{ site: site.name, path: pathOn(mount, site.id), listedAt, isFailing }];
  };
  const othersOf = (site: Site): Coverage["mounts"] => {
    const listings = registry.listings(site.id);
    return registry.site(site.id).extra.flatMap(({ path, disabled = false }) => {
      const listing = listings.get(path);
      const isFailing = (listing?.error ?? "") !== "";
      return disabled ? [] : [{ site: site.name, path, listedAt: listing?.at ?? 0, isFailing }];
    });
  };
  const unreadOf = (site: Site): Coverage["unread"] => {
    const cause = unreadSite(site, sources)?.cause ?? "";
    const { readAt } = registry.site(site.id);
    const isRead = cause === "" && !site.paused && readAt > 0;
    return isRead ? [] : [{ site: site.name, cause, readAt }];
  };
  return async (siteId, signal) => {
    const ticks = createTicks(signal);
    const mounts: Looked[] = [];
    const chosen = sites.sites().filter(({ id }) => siteId === undefined || id === siteId);
    const all = [...view.all().values()];
    for (const site of chosen) {
      for (const mount of all) {
        if (ticks.isDue()) await ticks.next();
        mounts.push(...ownOf(site, mount));
      }
      mounts.push(...othersOf(site));
    }
    return { mounts, unread: chosen.flatMap(unreadOf) };
  };
}
