import { type KindRules, kindNamed, type Parts } from "../ledger/kind.ts";
import { bytesOfParts, isSameParts } from "../ledger/parts.ts";
import type { StoredChange, StoredRecord } from "../ledger/store.ts";
import { siteKind } from "../records/kind.ts";
import { allowsChange } from "../records/stored-change.ts";
import { attributesOnSites } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import {
  RULE_MEMBERS,
  type Rule,
  type RuleOverride,
  type RuleValues,
  withoutSite,
} from "./rule.ts";
import { partOf, readBody, type StoredRule, shownPasswords, siteOfPart } from "./stored.ts";
import { passwordSubject, subjectOf } from "./subject.ts";

/** Folder rules in the ledger, by path. */
export const RULES = kindNamed<Rule>("rule");

/** Folder rules as records of sites. */
export const SITE_RULES = siteKind<Rule>({
  token: RULES,
  keyOf: ({ path }) => path,
  withoutSite,
});

/** Reports whether a change is that of a rule. */
export function isRuleChange({ kind }: Pick<StoredChange, "kind">): boolean {
  return kind === RULES.name;
}

export interface FolderRulesDeps {
  /** Names of sites, for the audit. */
  readonly sites: () => Pick<SiteNames, "nameOf">;
}

/** What the ledger needs to know of folder rules. */
export function folderRules({ sites }: FolderRulesDeps): KindRules<Rule> {
  // Each rule is encoded up to three times: by its draft, the history and the database.
  const known = new WeakMap<Rule, Parts>();
  const encode = (rule: Rule): Parts => {
    const parts = known.get(rule) ?? partsOf(rule);
    known.set(rule, parts);
    return parts;
  };
  return {
    kind: RULES,
    prefix: "rule:",
    keyOf: SITE_RULES.keyOf,
    positionOf: () => 0,
    encode,
    decode: (record) => {
      const rule = ruleOf(record);
      known.set(rule, record);
      return rule;
    },
    subjectsOf: (change) => [
      subjectOf(change.key),
      ...shownPasswords(change).map((site) =>
        passwordSubject(change.key, site === "" ? undefined : sites().nameOf(site)),
      ),
    ],
    historyAttributes: (rule) => encode(rule).attributes,
    isSame: (a, b) => isSameParts(encode(a), encode(b)),
    amountsOf: (rule) => ({ bytes: bytesOfParts(rule.path, encode(rule)) }),
    known: [],
    absent: () => undefined,
    canReadChange: (grant, change) =>
      grant.has("rules:read") && allowsChange("rule", grant, change),
    isExposed: () => false,
    isUrgent: () => false,
  };
}

/** Parts of a rule. Equal rules have equal texts: members and sites are in a fixed order. */
function partsOf(rule: Rule): Parts {
  const { siteIds, blind, missing } = rule;
  const { password, ...values } = rule.values;
  const secrets: Record<string, string> = {};
  if (password !== "") secrets[partOf("")] = password;
  const overrides = Object.entries(rule.overrides).map(([site, { path, values: all }]) => {
    const { password: own, ...open } = inOrder(all);
    // An empty one, which removes the password on a site, is no secret.
    if (own !== undefined && own !== "") secrets[partOf(site)] = own;
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
    const site = siteOfPart(part);
    const own = overrides[site];
    if (own !== undefined) overrides[site] = { ...own, values: { ...own.values, password } };
  }
  return Object.freeze({
    ...rest,
    path: key,
    values: { ...values, password: secrets[partOf("")] ?? "" },
    overrides,
    revision,
  });
}

function byPath([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Rules of a snapshot by path, sorted. */
export const rulesByPath = SITE_RULES.byKey;

/** Rules of a draft by path, sorted. */
export const draftRules = SITE_RULES.ofDraft;
