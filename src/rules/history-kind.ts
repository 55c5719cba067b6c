import type { RecordKind } from "../history/kind.ts";
import { describeChange } from "../records/history-change.ts";
import { historyKind } from "../records/history-kind.ts";
import { restoreRecords } from "../records/restore.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { itemsOfRule } from "./history-change.ts";
import { SITE_RULES } from "./kind.ts";
import { restoredRule } from "./restore.ts";
import { passwordFields, type Rule } from "./rule.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";
import { changedMembers, redirectedPasswords } from "./save.ts";

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
  return historyKind(SITE_RULES, {
    all: rules,
    keyNamed: pathOf,
    storedKey: pathOf,
    describe: (change) => describeChange(SITE_RULES, change, itemsOfRule, sites()),
    effects: () => onSites.effectsOf,
    restore: (draft, changes, grant) =>
      restoreRecords(SITE_RULES, draft, changes, {
        grant,
        managedBy,
        sites: sites(),
        restored: restoredRule,
        redirected: (now, rule) => {
          const reveals = grant.has("rules:reveal");
          const options = { sites: sites(), reveals, isAdopted: false };
          const places = redirectedPasswords(now, { rule, given: [] }, options);
          return passwordFields(places, sites());
        },
        changedNames: (now, rule) => changedMembers(now, rule, { sites: sites() }),
      }),
  });
}
