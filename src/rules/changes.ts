import type { Ledger } from "../ledger/ledger.ts";
import type { Caller } from "../records/caller.ts";
import { createRecordChanges, type RecordChanges } from "../records/changes.ts";
import { saveRights } from "../records/save-rules.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import { SITE_RULES } from "./kind.ts";
import type { Rule } from "./rule.ts";
import type { RuleView } from "./rule-view.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";
import type { SaveRules } from "./save.ts";

export interface RuleChangesDeps {
  readonly ledger: Pick<Ledger, "change">;
  readonly view: Pick<RuleView, "all">;
  readonly sites: Pick<SiteRegistry, "names" | "load">;
  readonly onSites: Pick<RulesOnSites, "effectsOf">;
  readonly fingerprint: Fingerprint;
  /** File that declares a rule; undefined: clients change it. */
  readonly declaredBy: (path: string) => string | undefined;
}

/** Common parts of all changes of rules. */
export interface RuleChanges extends RecordChanges<Rule> {
  /** Rules of a save by a caller. */
  rulesOf(caller: Pick<Caller, "grant">): SaveRules;
}

export function createRuleChanges(deps: RuleChangesDeps): RuleChanges {
  const { view, sites, declaredBy } = deps;
  const changes = createRecordChanges(SITE_RULES, {
    ...deps,
    all: view.all,
    effects: () => deps.onSites.effectsOf,
  });
  return {
    ...changes,
    rulesOf: ({ grant }) => ({
      etagOf: changes.etagOf,
      isAdopted: false,
      sites: sites.names(),
      managedBy: declaredBy,
      ...saveRights(SITE_RULES, grant),
    }),
  };
}
