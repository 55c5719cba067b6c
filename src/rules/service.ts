import type { Ledger } from "../ledger/ledger.ts";
import { deleteRecords } from "../records/delete.ts";
import { leaveDeletedSite } from "../records/leave.ts";
import { checkKeys } from "../records/limit.ts";
import { createRecordFeed } from "../records/watch.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import { isOnSite } from "../sites/site-choice.ts";
import { createRuleChanges } from "./changes.ts";
import { rulesKind } from "./history-kind.ts";
import { SITE_RULES } from "./kind.ts";
import { pathOfRule } from "./path-of-rule.ts";
import type { Rule } from "./rule.ts";
import type { RuleService } from "./rule-service.ts";
import type { RuleView } from "./rule-view.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";
import { moveRule } from "./use-case/move.ts";
import { saveRules } from "./use-case/save.ts";
import { isSameWatched, type WatchedRule, type WatchedSource } from "./watch.ts";

export interface RuleServiceDeps {
  readonly ledger: Ledger;
  readonly view: Pick<RuleView, "all">;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "load">;
  readonly onSites: RulesOnSites;
  /** File that declares a rule; undefined: clients change it. */
  readonly declaredBy: (path: string) => string | undefined;
  /** Aborted when streams are to end. */
  readonly stopping: AbortSignal;
}

/** Composes the use cases of folder rules. */
export function createRuleService(deps: RuleServiceDeps): RuleService {
  const { ledger, sites, onSites, view } = deps;
  const changes = createRuleChanges(deps);
  const pathOf = pathOfRule(view.all);
  const feed = createFeed(deps);
  onSites.onChange(feed.changed);
  return {
    revision: () => ledger.snapshot().revision,
    etagOf: changes.etagOf,
    pathOf,
    kind: rulesKind({
      rules: view.all,
      sites: sites.names,
      onSites,
      pathOf,
      managedBy: deps.declaredBy,
    }),
    list: async (grant, site = "") => {
      if (site === "") return changes.readable(grant);
      const { id } = await changes.siteNamed(site);
      return changes.readable(grant).filter((rule) => isOnSite(rule, id));
    },
    get: (path, grant) => changes.require(grant, view.all().get(path), path),
    saved: (paths) => [...paths].flatMap((path) => view.all().get(path) ?? []),
    statuses: onSites.statuses,
    siteCount: () => sites.sites().length,
    save: saveRules(changes),
    move: moveRule(changes, sites),
    delete: deleteRecords(SITE_RULES, changes, "paths"),
    leave: leaveDeletedSite(SITE_RULES, {
      ...deps,
      all: view.all,
      refuseManaged: changes.refuseManaged,
    }),
    compare: async (site, signal) => onSites.compare(await changes.siteNamed(site), signal),
    sync: async (site, paths, origin, signal) => {
      checkKeys("paths", paths);
      return onSites.sync(await changes.siteNamed(site), paths, origin, signal);
    },
    adopt: async (site, paths, caller, options = {}) => {
      checkKeys("paths", paths);
      return onSites.adopt(await changes.siteNamed(site), paths, caller, options);
    },
    declaredBy: deps.declaredBy,
    watch: feed.watch,
    changed: feed.changed,
  };
}

/** Streams of rules with their statuses. */
function createFeed({ ledger, view, sites, onSites, stopping }: RuleServiceDeps) {
  const source = (): WatchedSource => ({ snapshot: ledger.snapshot(), sites: sites.sites() });
  const shown = (rule: Rule): WatchedRule => ({ rule, statuses: onSites.statuses(rule) });
  return createRecordFeed({ source, records: view.all, shown, isSame: isSameWatched }, stopping);
}
