import type { RecordsOfSite, Site, SiteState } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { Mount } from "./mount.ts";
import type { Status } from "./status.ts";

export interface SummaryDeps {
  /** All mounts. The same object until one changes. */
  readonly mounts: () => ReadonlyMap<string, Mount>;
  readonly statusOf: (mount: Mount, site: Site) => Status;
  /** Reason for which the mounts of a site can't be read. */
  readonly errorOf: (site: Site) => RecordsOfSite["error"];
  /** State of a site's settings. The same object until it changes. */
  readonly stateOf: (siteId: string) => Pick<SiteState, "error">;
}

/** Summaries of the mounts of sites, each computed once after a change. */
export interface Summaries {
  ofSite(site: Site): RecordsOfSite;
  /** Computes the summary of a site, or of all, again. */
  forget(siteId: string | undefined): void;
}

interface Known {
  readonly site: Site;
  readonly mounts: ReadonlyMap<string, Mount>;
  readonly error: SiteState["error"];
  readonly summary: RecordsOfSite;
  readonly isCurrent: boolean;
}

export function createSummaries(deps: SummaryDeps): Summaries {
  const known = new Map<string, Known>();
  return {
    ofSite: (site) => {
      const before = known.get(site.id);
      const mounts = deps.mounts();
      const { error } = deps.stateOf(site.id);
      const isCurrent =
        before?.isCurrent === true &&
        before.site === site &&
        before.mounts === mounts &&
        before.error === error;
      if (isCurrent) return before.summary;
      const counts: Record<string, number> = {};
      for (const mount of mounts.values()) {
        if (!isOnSite(mount, site.id)) continue;
        const { state } = deps.statusOf(mount, site);
        counts[state] = (counts[state] ?? 0) + 1;
      }
      const now: RecordsOfSite = { kind: "mount", error: deps.errorOf(site), counts };
      const isSame = JSON.stringify(now) === JSON.stringify(before?.summary);
      const summary = before !== undefined && isSame ? before.summary : Object.freeze(now);
      known.set(site.id, { site, mounts, error, summary, isCurrent: true });
      return summary;
    },
    forget: (siteId) => {
      for (const [id, one] of known)
        if (siteId === undefined || siteId === id) known.set(id, { ...one, isCurrent: false });
    },
  };
}
