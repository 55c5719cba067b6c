import type { Config } from "../config/config.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import type { Sites, SiteTimes } from "../sites/sites.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Foundation } from "./foundation.ts";
import { type MountTimes, type OpenMounts, openMounts } from "./mounts.ts";
import { type OpenRules, openRules } from "./rules.ts";
import { openSites } from "./sites.ts";

export interface SiteWorkDeps {
  readonly log: Logger;
  /** Other intervals for the background work on sites; undefined: those of the program. */
  readonly siteTimes?: SiteTimes | undefined;
  /** Other intervals for the work on mounts, rules and incidents; undefined: those of the program. */
  readonly mountTimes?: MountTimes | undefined;
}

/** Sites, and the records that are brought to them. */
export interface SiteWork {
  readonly sites: Sites;
  readonly rules: OpenRules;
  readonly mounts: OpenMounts;
  /** Kinds of records beside settings. */
  readonly kinds: readonly KindOfSites[];
}

/**
 * Opens the work on sites. It begins when the sites are started.
 *
 * @param opened closes it.
 */
export async function openSiteWork(
  config: Config,
  { store, registry, services, driverOf, driverNames, declared }: Foundation,
  { log, siteTimes, mountTimes: times }: SiteWorkDeps,
  opened: AsyncDisposableStack,
): Promise<SiteWork> {
  const sites = await openSites(config, { services, store, registry, log, times: siteTimes });
  const parts = { sites, store, services, log, declaredBy: declared.by, times };
  const rules = openRules(parts);
  opened.defer(rules.close);
  const mounts = await openMounts(config, {
    ...parts,
    driverOf,
    driverNames,
    rulesFirst: rules.beforeMounts.settle,
    movingOn: rules.movingOn,
  });
  opened.defer(mounts.close);
  // Mounts may have waited for the rules.
  rules.onWork(mounts.reconcile);
  opened.defer(sites.close);
  return { sites, rules, mounts, kinds: [mounts.mounts.onSites, rules.kindOfSites] };
}
