import type { KindRules, Parts } from "../ledger/kind.ts";
import type { StoredChange, StoredRecord } from "../ledger/store.ts";
import { siteKind } from "../records/kind.ts";
import { recordRules } from "../records/ledger-rules.ts";
import { placeOf } from "../records/secret-place.ts";
import { attributesOnSites } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import {
  passwordField,
  RULE_MEMBERS,
  type Rule,
  type RuleOverride,
  type RuleValues,
  withoutSite,
} from "./rule.ts";
import { PASSWORD, passwordPart, readBody, type StoredRule } from "./stored.ts";
import { RULE_TEXTS } from "./text.ts";

/** Folder rules as records of sites. */
export const SITE_RULES = siteKind<Rule>({
  noun: "rule",
  plural: "rules",
  keyField: "path",
  pathField: "path",
  keyOf: ({ path }) => path,
  withoutSite,
  secretField: ({ site }, sites) => passwordField(site, sites),
  missingOf: ({ missing }) => missing.map((site) => ({ site, item: PASSWORD })),
  blindIn: (body) => (readBody(body).blind ?? []).map((blind) => ({ ...blind, item: PASSWORD })),
  texts: RULE_TEXTS,
});

/** Folder rules in the ledger, by path. */
export const RULES = SITE_RULES.token;

/** Reports whether a change is that of a rule. */
export function isRuleChange({ kind }: Pick<StoredChange, "kind">): boolean {
  return kind === RULES.name;
}

export interface FolderRulesDeps {
  /** Names of sites, for the audit. */
  readonly sites: () => Pick<SiteNames, "nameOf">;
}

/** Folder rules in the ledger. */
export function folderRules({ sites }: FolderRulesDeps): KindRules<Rule> {
  return recordRules(SITE_RULES, { encode: partsOf, decode: ruleOf, sites });
}

/** Parts of a rule. Equal rules have equal texts: members and sites are in a fixed order. */
function partsOf(rule: Rule): Parts {
  const { siteIds, blind, missing } = rule;
  const { password, ...values } = rule.values;
  const secrets: Record<string, string> = {};
  if (password !== "") secrets[passwordPart("")] = password;
  const overrides = Object.entries(rule.overrides).map(([site, { path, values: all }]) => {
    const { password: own, ...open } = inOrder(all);
    // An empty one, which removes the password on a site, is no secret.
    if (own !== undefined && own !== "") secrets[passwordPart(site)] = own;
    return [site, { path, values: own === "" ? { password: "", ...open } : open }] as const;
  });
  const stored: StoredRule = {
    siteIds,
    values: inOrder(values) as typeof values,
    overrides: Object.fromEntries(overrides.sort(byPath)),
    ...(blind !== undefined && { blind }),
    ...(missing.length > 0 && { missing: [...missing].sort() }),
  };
  return {
    body: JSON.stringify(stored),
    attributes: JSON.stringify(attributesOnSites(rule)),
    secrets,
  };
}

/** The given values in the order of `RULE_MEMBERS`. */
function inOrder(values: Partial<RuleValues>): Partial<RuleValues> {
  return Object.fromEntries(
    RULE_MEMBERS.flatMap((member) =>
      values[member] === undefined ? [] : [[member, values[member]]],
    ),
  );
}

function ruleOf({ key, body, secrets, revision }: StoredRecord): Rule {
  const { values, overrides: open, ...rest } = readBody(body ?? "{}");
  const overrides: Record<string, RuleOverride> = { ...open };
  for (const [part, password] of Object.entries(secrets)) {
    const { site } = placeOf(part);
    const own = overrides[site];
    if (own !== undefined) overrides[site] = { ...own, values: { ...own.values, password } };
  }
  return Object.freeze({
    ...rest,
    path: key,
    values: { ...values, password: secrets[passwordPart("")] ?? "" },
    overrides,
    revision,
  });
}

function byPath([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Rules of a snapshot by path, sorted. */
export const rulesByPath = SITE_RULES.byKey;
