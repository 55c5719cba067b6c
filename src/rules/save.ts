import type { RecordResult } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { type CheckedRecord, SaveCheck, savedResult, warningNote } from "../records/save-check.ts";
import type { RecordSaveRules } from "../records/save-rules.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { sortedJson } from "../sorted-json.ts";
import { createTicks } from "../ticks.ts";
import { type CheckedRule, type RuleInput, withRuleInput } from "./input.ts";
import { RULES, SITE_RULES } from "./kind.ts";
import {
  passwordFields,
  RULE_MEMBERS,
  type Rule,
  type RuleIndex,
  reachOfPasswords,
} from "./rule.ts";

/** Rules of a save of folder rules. */
export interface SaveRules extends RecordSaveRules<Rule> {
  /** Whether each input replaces the whole rule. */
  readonly isWhole?: boolean;
}

interface SavedRule extends CheckedRecord<Rule> {
  readonly before: Rule | undefined;
  /** Passwords that always count as changed: the caller must not learn whether they are right. */
  readonly given: CheckedRule["given"];
  readonly warnings: CheckedRule["warnings"];
}

/**
 * Applies a save to a draft: all rules or none. A single rule that is rejected leaves the draft
 * unchanged.
 *
 * @param rules all rules of the draft, by path; updated.
 * @throws INVALID_ARGUMENT with every violation; ABORTED; ALREADY_EXISTS; FAILED_PRECONDITION;
 *   PERMISSION_DENIED; RESOURCE_EXHAUSTED.
 */
export async function decideSave(
  draft: Draft,
  inputs: readonly RuleInput[],
  rules: RuleIndex,
  options: SaveRules,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const check = new SaveCheck(SITE_RULES, rules, options);
  const saved: SavedRule[] = [];
  for (const [number, input] of inputs.entries()) {
    if (ticks.isDue()) await ticks.next();
    const field = `rules[${number}].`;
    const before = check.before(number, input.path, input.expectedEtag);
    const checked = withRuleInput(before, input, { ...options, field });
    if (!check.accepts(checked.violations)) continue;
    check.requireAllowed(checked.rule);
    const redirected = redirectedPasswords(before, checked, options);
    if (!check.accepts(redirectViolations(field, redirected, options.sites))) continue;
    const given = options.reveals
      ? []
      : checked.given.filter(
          (site) => hasPassword(before, site) || hasPassword(checked.rule, site),
        );
    const isBlind = !options.reveals && !options.isAdopted;
    const revision = isBlind ? draft.revision + 1 : undefined;
    const rule = withBlind(checked.rule, checked.given, revision);
    rules.set(rule.path, rule);
    saved.push({ before, record: rule, number, given, warnings: checked.warnings });
  }
  await check.finish(saved);
  return saved.map(({ before, record: rule, given, warnings }) => {
    const isChanged = draft.put(RULES, rule, given.length > 0);
    const { sites } = options;
    return savedResult(rule.path, warningNote(warnings), before, isChanged, (known) =>
      changedMembers(known, rule, { sites, given }),
    );
  });
}

function redirectViolations(
  prefix: string,
  places: readonly string[],
  sites: SiteNames,
): readonly Violation[] {
  return passwordFields(places, sites).map((name) => {
    const field = `${prefix}${name}`;
    return { field, description: message("PASSWORD_REDIRECTED", { field }) };
  });
}

/**
 * Places of passwords that a save leaves unchanged and sends to a site that did not get them
 * before. Otherwise a caller who may not read them could have them sent to a server of its own. A
 * site's own values are no such change: the site has the passwords.
 */
export function redirectedPasswords(
  before: Rule | undefined,
  { rule, given }: Pick<CheckedRule, "rule" | "given">,
  {
    sites,
    reveals,
    isAdopted,
  }: Pick<SaveRules, "reveals" | "isAdopted"> & {
    readonly sites: Pick<SiteNames, "ids">;
  },
): readonly string[] {
  if (before === undefined || reveals || isAdopted) return [];
  const reachedBefore = reachOfPasswords(before, sites.ids);
  return [...reachOfPasswords(rule, sites.ids)].flatMap(([place, reached]) => {
    const known = reachedBefore.get(place);
    const isNew = [...reached].some((site) => known?.has(site) !== true);
    return isNew && !given.includes(place) ? [place] : [];
  });
}

function hasPassword(rule: Rule | undefined, site: string): boolean {
  const values = site === "" ? rule?.values : rule?.overrides[site]?.values;
  return (values?.password ?? "") !== "";
}

/** Records the passwords of a caller who may not read them. @param revision undefined: it may. */
function withBlind(rule: Rule, given: readonly string[], revision: number | undefined): Rule {
  const { blind: before = [], ...rest } = rule;
  const kept = before.filter(
    ({ site }) => !given.includes(site) && (site === "" || Object.hasOwn(rule.overrides, site)),
  );
  const blind = [
    ...kept,
    ...(revision === undefined ? [] : given.map((site) => ({ site, revision }))),
  ];
  return blind.length === 0 ? rest : { ...rest, blind };
}

/**
 * Names of the members that differ between two states of a rule, without values.
 *
 * @param options.given places of passwords that always count as different.
 */
export function changedMembers(
  before: Rule,
  after: Rule,
  {
    sites: { nameOf },
    given = [],
  }: { readonly sites: Pick<SiteNames, "nameOf">; readonly given?: readonly string[] },
): string[] {
  const isEqual = (a: unknown, b: unknown): boolean => sortedJson(a) === sortedJson(b);
  const names: string[] = RULE_MEMBERS.filter(
    (member) =>
      (member === "password" && given.includes("")) ||
      !isEqual(before.values[member], after.values[member]),
  );
  if (!isEqual(before.siteIds, after.siteIds)) names.push("sites");
  const sites = new Set([...Object.keys(before.overrides), ...Object.keys(after.overrides)]);
  for (const site of sites)
    if (given.includes(site) || !isEqual(before.overrides[site], after.overrides[site]))
      names.push(`overrides.${nameOf(site)}`);
  return names;
}
