import { doneEntry } from "../../audit/entry.ts";
import type { AuditEntry } from "../../audit/store.ts";
import { notFound } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { didYouMean } from "../../messages/nearest.ts";
import { MAX_SUBJECTS } from "../../records/limit.ts";
import { requestedKeys } from "../../records/requested-keys.ts";
import { subjectOf } from "../../records/subject.ts";
import { onSite } from "../../sites/on-site.ts";
import type { Site } from "../../sites/site.ts";
import { SITE_RULES } from "../kind.ts";
import type { Rule } from "../rule.ts";
import type { RuleStatus } from "../rule-status.ts";
import type { RuleView } from "../rule-view.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import type { RuleRegistry } from "../site/state.ts";
import type { RuleSync } from "../site/sync.ts";
import { planOfSync } from "../site/sync-plan.ts";

export interface CompareDeps {
  readonly registry: Pick<RuleRegistry, "records">;
  readonly sync: Pick<RuleSync, "read">;
  readonly view: Pick<RuleView, "wantedOf">;
}

/** Compares the rules of a site with its server. */
export function compareRules({ registry, sync, view }: CompareDeps): RulesOnSites["compare"] {
  return async (site, signal) => {
    const round = await onSite(sync.read(site.id), signal);
    return planOfSync(round, site, view.wantedOf(site), registry.records(site.id));
  };
}

export interface SyncDeps {
  readonly sync: Pick<RuleSync, "read" | "request" | "push">;
  readonly view: Pick<RuleView, "all" | "wantedOf">;
  readonly statusOn: (rule: Rule, site: Site) => RuleStatus;
  /** Records a request that changes nothing in Mooring. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** Brings rules to the server of a site now. */
export function syncRules({ sync, view, statusOn, audit }: SyncDeps): RulesOnSites["sync"] {
  return async (site, paths, origin, signal) => {
    const asked = requestedKeys(paths, {
      ofSite: view.wantedOf(site).map(({ name }) => name),
      all: view.all(),
      unknown: (path) => {
        const hint = didYouMean(path, view.all().keys());
        return notFound(message("RULE_NOT_FOUND", { path: path.slice(0, 255), hint }));
      },
      elsewhere: (path) =>
        notFound(message("RULE_NOT_ON_SITE", { site: site.name, path: path.slice(0, 255) })),
    });
    const subjects = asked.slice(0, MAX_SUBJECTS).map((path) => subjectOf(SITE_RULES, path));
    await audit(doneEntry(origin, Date.now(), [site.name, ...subjects], {}));
    // A site without rules in Mooring is read, so that it counts as contacted.
    await onSite(sync.read(site.id), signal);
    if (asked.length === 0) await onSite(sync.request(site.id, { forced: [], states: {} }), signal);
    else await onSite(sync.push(site.id, asked, signal), signal);
    return asked.flatMap((path) => {
      const rule = view.all().get(path);
      return rule === undefined ? [] : [statusOn(rule, site)];
    });
  };
}
