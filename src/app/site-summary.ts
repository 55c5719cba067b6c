import { countsOf, errorOf } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import { countsText, stateOfSite } from "../sites/site-state.ts";

/**
 * Summary of the sites, such as `3: 2 ok, 1 differs; 1 revision behind; 2 settings differ; 1
 * refused`; undefined: no sites.
 */
export function summaryOf(sites: SiteService): string | undefined {
  const figures = figuresOf(sites);
  if (figures.length === 0) return undefined;
  const lag = Math.max(...figures.map((each) => each.lag));
  const awaiting = sites.list().flatMap(({ site }) => (site.restoring > 0 ? [site.name] : []));
  const [drift, refused] = [sum(figures, "drift"), sum(figures, "refused")];
  return [
    `${figures.length}: ${countsText({ counts: totals(figures.map(({ state }) => ({ [state]: 1 }))) })}`,
    ...(lag > 0 ? [`${lag} ${lag === 1 ? "revision" : "revisions"} behind`] : []),
    ...(drift > 0 ? [drift === 1 ? "1 setting differs" : `${drift} settings differ`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(awaiting.length > 0
      ? [`paused by a restore that has not ended: ${awaiting.join(", ")}`]
      : []),
    ...recordSummary(figures, "mounts"),
    ...recordSummary(figures, "rules"),
  ].join("; ");
}

/** Numbers of records of a kind on sites by state, such as `mounts: 5 ok, 1 failing`. */
function recordSummary(figures: ReturnType<typeof figuresOf>, kind: "mounts" | "rules"): string[] {
  const text = countsText({ counts: totals(figures.map((each) => each[kind])) });
  return text === "" ? [] : [`${kind}: ${text}`];
}

function totals(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

function sum(figures: ReturnType<typeof figuresOf>, name: "drift" | "refused"): number {
  return figures.reduce((total, each) => total + each[name], 0);
}

/** Metrics of each site. */
export function figuresOf(sites: SiteService) {
  return sites.list().map(({ site, state, records }) => ({
    name: site.name,
    state: stateOfSite({ site, state, records }, sites.revision()).state,
    up: errorOf({ state, records }) === undefined && state.reachedAt > 0,
    lag: site.mode === "follow" ? Math.max(0, sites.revision() - state.appliedRevision) : 0,
    drift: state.drift.length,
    refused: Object.keys(state.refused).length,
    mounts: countsOf({ records }, "mount"),
    rules: countsOf({ records }, "rule"),
  }));
}
