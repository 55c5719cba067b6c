import type { RecordKind } from "../history/kind.ts";
import { withEffects } from "../records/effect.ts";
import { allowsChange } from "../records/stored-change.ts";
import { isChangeOnSite } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { describeRuleChange } from "./history-change.ts";
import { RULES, SITE_RULES } from "./kind.ts";
import { restoreRules } from "./restore.ts";
import { isAllowed, type Rule } from "./rule.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";
import { subjectOf } from "./subject.ts";

export interface RulesKindDeps {
  /** All rules, by path. */
  readonly rules: () => ReadonlyMap<string, Rule>;
  readonly sites: () => Pick<SiteNames, "ids" | "nameOf">;
  readonly onSites: Pick<RulesOnSites, "effectsOf">;
  /** Path of the rule that a text names. */
  readonly pathOf: (text: string) => string;
  /** Source that manages a rule, such as a file; undefined: clients may change it. */
  readonly managedBy: (path: string) => string | undefined;
}

/** Folder rules as a kind of records in the history. */
export function rulesKind({ rules, sites, onSites, pathOf, managedBy }: RulesKindDeps): RecordKind {
  return {
    name: "rule",
    plural: "rules",
    kind: RULES,
    scopes: { read: "rules:read", restore: "rules:write" },
    keyOf: subjectOf,
    find: (text) => rules().get(pathOf(text))?.path,
    mayName: (grant, text) => {
      if (grant.limits.length === 0) return true;
      const rule = rules().get(pathOf(text));
      return rule !== undefined && isAllowed(grant, rule);
    },
    storedKey: pathOf,
    allows: (grant, change) => allowsChange("rule", grant, change),
    isOnSite: isChangeOnSite,
    hides: (grant, { oldHashes, newHashes }) =>
      (oldHashes !== null || newHashes !== null) && !grant.has("rules:reveal"),
    describe: (change) => describeRuleChange(change, sites()),
    restore: (draft, changes, grant) =>
      withEffects(SITE_RULES, onSites.effectsOf, () =>
        restoreRules(draft, changes, { grant, managedBy, sites: sites() }),
      )(draft),
  };
}
