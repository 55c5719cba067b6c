import type { SiteRecords } from "../sync/site-records.ts";
import type { StateName } from "../sync/state.ts";
import type { RecordsOfSite, Site, SiteState } from "./site.ts";
import { isOnSite, type OnSites } from "./site-choice.ts";

export interface SummaryDeps<R extends Pick<OnSites, "siteIds">> {
  readonly kind: RecordsOfSite["kind"];
  /** All records. The same object until one changes. */
  readonly records: () => ReadonlyMap<string, R>;
  readonly statusOf: (record: R, site: Site) => { readonly state: StateName };
  /** State of all records of a site. */
  readonly siteRecordsOf: (siteId: string) => SiteRecords;
  /** State of a site's settings. The same object until it changes. */
  readonly stateOf: (siteId: string) => Pick<SiteState, "error">;
}

/** Summaries of the records of sites, each computed once after a change. */
export interface Summaries {
  ofSite(site: Site): RecordsOfSite;
  /** Computes the summary of a site, or of all, again. */
  forget(siteId: string | undefined): void;
}

interface Known<R> {
  readonly site: Site;
  readonly records: ReadonlyMap<string, R>;
  readonly error: SiteState["error"];
  readonly summary: RecordsOfSite;
  readonly isCurrent: boolean;
}

export function createSummaries<R extends Pick<OnSites, "siteIds">>(
  deps: SummaryDeps<R>,
): Summaries {
  const known = new Map<string, Known<R>>();
  return {
    ofSite: (site) => {
      const before = known.get(site.id);
      const records = deps.records();
      const { error } = deps.stateOf(site.id);
      const isCurrent =
        before?.isCurrent === true &&
        before.site === site &&
        before.records === records &&
        before.error === error;
      if (isCurrent) return before.summary;
      const counts: Record<string, number> = {};
      for (const record of records.values()) {
        if (!isOnSite(record, site.id)) continue;
        const { state } = deps.statusOf(record, site);
        counts[state] = (counts[state] ?? 0) + 1;
      }
      const now: RecordsOfSite = {
        kind: deps.kind,
        error: errorOf(deps.siteRecordsOf(site.id)),
        counts,
      };
      const isSame = JSON.stringify(now) === JSON.stringify(before?.summary);
      const summary = before !== undefined && isSame ? before.summary : Object.freeze(now);
      known.set(site.id, { site, records, error, summary, isCurrent: true });
      return summary;
    },
    forget: (siteId) => {
      for (const [id, one] of known)
        if (siteId === undefined || siteId === id) known.set(id, { ...one, isCurrent: false });
    },
  };
}

/** Reason for which the records of a site can't be read. */
function errorOf({ error, errorKind: kind, errorSince: since }: SiteRecords) {
  return error === "" ? undefined : { kind, message: error, since };
}
