import type { AuditEntry } from "../../audit/store.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import { affectedByFollowing, isRunning, type RecordChange } from "../../records/effect.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import type { KindOfSites } from "../../sites/record-effect.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite } from "../../sites/site-choice.ts";
import { createSummaries } from "../../sites/summary.ts";
import type { Rule } from "../rule.ts";
import type { RuleView } from "../rule-view.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import { adoptRules, type RuleAdoption } from "../use-case/adopt.ts";
import { compareRules, syncRules } from "../use-case/sync.ts";
import { effectsOf, effectsOfFollowing } from "./effect.ts";
import { isManaged, NEW_RULE, type RuleRegistry } from "./state.ts";
import { ruleStatus } from "./status.ts";
import type { RuleSync } from "./sync.ts";

export interface RulesOnSitesDeps {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "state">;
  readonly registry: RuleRegistry;
  readonly sync: Pick<RuleSync, "read" | "request" | "push" | "forward">;
  readonly view: RuleView;
  /** Name of the file that declares a rule; undefined: none. */
  readonly declaredBy: (path: string) => string | undefined;
  /** Records a request that changes nothing in Mooring. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** Rules on the servers of sites, with what the sites and the upstream need of them. */
export interface LiveRules extends RulesOnSites, RuleAdoption {
  /** Share of the rules in the state of a site, and their part in changes of sites. */
  readonly onSites: Pick<KindOfSites, "ofSite" | "affected">;
  /** Wakes the listeners after a commit. */
  changed(): void;
}

export function createRulesOnSites(deps: RulesOnSitesDeps): LiveRules {
  const { registry, sites, view } = deps;
  const sources = { registry, siteState: sites.state };
  const listeners = new Set<() => void>();
  const statusOn = (rule: Rule, site: Site) => ruleStatus(rule, site, sources);
  const summaries = createSummaries<Rule>({
    kind: "rule",
    records: view.all,
    statusOf: statusOn,
    siteRecordsOf: registry.site,
    stateOf: sites.state,
  });
  const changed = (siteId?: string): void => {
    summaries.forget(siteId);
    for (const listener of listeners) listener();
  };
  registry.onChange(changed);
  const running = (): readonly Site[] =>
    sites.sites().filter((site) => isRunning(site, registry.site(site.id)));
  const effectsOn = (change: RecordChange<Rule>, of: readonly Site[]) =>
    effectsOf(
      change,
      of.map((site) => {
        const state = registry.records(site.id).get(change.before?.path ?? "");
        return { site, has: isManaged(state ?? NEW_RULE) };
      }),
    );
  return {
    effectsOf: (change) => effectsOn(change, running()),
    statuses: (rule) =>
      sites
        .sites()
        .filter(({ id }) => isOnSite(rule, id))
        .map((site) => statusOn(rule, site)),
    compare: compareRules(deps),
    sync: syncRules({ ...deps, statusOn }),
    ...adoptRules({
      ...deps,
      effectsBeside: (change, site) =>
        effectsOn(
          change,
          running().filter(({ id }) => id !== site.id),
        ),
    }),
    onChange: (listener) => void listeners.add(listener),
    changed: () => changed(),
    onSites: {
      ofSite: summaries.ofSite,
      affected: affectedByFollowing(registry, (site) =>
        effectsOfFollowing(site, view.all(), registry.records(site.id)),
      ),
    },
  };
}
