import { Code } from "@connectrpc/connect";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import { invalid, ServiceError, type Violation } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { joinTexts, message } from "../messages/message.ts";
import type { RecordEtag } from "../records/etag.ts";
import { MAX_RECORDS } from "../records/limit.ts";
import { findClash } from "../sites/path-index.ts";
import { pathsOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { sortedJson } from "../sorted-json.ts";
import { createTicks } from "../ticks.ts";
import { type CheckedRule, type RuleInput, withRuleInput } from "./input.ts";
import { RULES } from "./kind.ts";
import {
  passwordFields,
  RULE_MEMBERS,
  type Rule,
  type RuleIndex,
  reachOfPasswords,
} from "./rule.ts";

/** Maximum number of violations in a reply. */
const MAX_VIOLATIONS = 100;
/** Maximum number of problems in a note. */
const MAX_WARNINGS = 10;

export interface SaveRules {
  readonly etagOf: RecordEtag<Rule>;
  /** All sites. */
  readonly sites: SiteNames;
  /** Reports whether the caller may see and change a rule at a path. */
  readonly allows: (path: string) => boolean;
  /** Throws PERMISSION_DENIED. */
  readonly refuse: () => never;
  /** Reports whether the caller may read passwords. */
  readonly reveals: boolean;
  /** Source that manages a rule, such as a file; undefined: clients may change it. */
  readonly managedBy: (path: string) => string | undefined;
  /** Whether the values were adopted from a site, which has the passwords. */
  readonly isAdopted: boolean;
  /**
   * Whether the values come from a site or a document: they are taken as they are, and problems are
   * in the note of the result.
   */
  readonly carries?: boolean;
  /** Whether each input replaces the whole rule. */
  readonly isWhole?: boolean;
}

interface SavedRule {
  readonly before: Rule | undefined;
  readonly rule: Rule;
  /** Index of the rule in messages. */
  readonly number: number;
  /** Passwords that always count as changed: the caller must not learn whether they are right. */
  readonly given: CheckedRule["given"];
  readonly warnings: CheckedRule["warnings"];
}

/**
 * Applies a save to a draft: all rules or none. A single rule that is rejected leaves the draft
 * unchanged.
 *
 * @param rules all rules of the draft, by path; updated.
 * @throws INVALID_ARGUMENT with every violation; ABORTED; ALREADY_EXISTS; PERMISSION_DENIED;
 *   RESOURCE_EXHAUSTED.
 */
export async function decideSave(
  draft: Draft,
  inputs: readonly RuleInput[],
  rules: RuleIndex,
  options: SaveRules,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const violations: Violation[] = [];
  const paths = new Set<string>();
  const saved: SavedRule[] = [];
  for (const [number, input] of inputs.entries()) {
    if (ticks.isDue()) await ticks.next();
    const field = `rules[${number}].`;
    const before = rules.get(input.path);
    if (before !== undefined && !pathsOf(before).every(options.allows)) options.refuse();
    checkManaged(input.path, options.managedBy(input.path));
    if (paths.has(input.path))
      violations.push({
        field: `${field}path`,
        description: message("RULE_REPEATED", { field: `${field}path`, path: input.path }),
      });
    paths.add(input.path);
    checkExpected(before, input.path, { etagOf: options.etagOf, expected: input.expectedEtag });
    const checked = withRuleInput(before, input, { ...options, field });
    violations.push(...checked.violations);
    if (checked.violations.length > 0) continue;
    for (const path of pathsOf(checked.rule)) if (!options.allows(path)) options.refuse();
    const redirected = redirectedPasswords(before, checked, options);
    violations.push(
      ...passwordFields(redirected, options.sites).map((name) => ({
        field: `${field}${name}`,
        description: message("PASSWORD_REDIRECTED", { field: `${field}${name}` }),
      })),
    );
    if (redirected.length > 0) continue;
    const given = options.reveals
      ? []
      : checked.given.filter(
          (site) => hasPassword(before, site) || hasPassword(checked.rule, site),
        );
    const blindAt = options.isAdopted ? undefined : draft.revision + 1;
    const rule = withBlind(checked.rule, checked.given, options.reveals ? undefined : blindAt);
    rules.set(rule.path, rule);
    saved.push({ before, rule, number, given, warnings: checked.warnings });
  }
  const taken: Violation[] = [];
  for (const each of saved) {
    if (ticks.isDue()) await ticks.next();
    taken.push(...pathViolations(each, rules, options));
  }
  const [first, ...rest] = [...violations, ...taken].slice(0, MAX_VIOLATIONS);
  if (first !== undefined) throw invalid([first, ...rest]);
  if (rules.size > MAX_RECORDS)
    throw new ServiceError(
      Code.ResourceExhausted,
      message("TOO_MANY_RULES", { count: rules.size, most: MAX_RECORDS }),
    );
  return saved.map((each) =>
    resultOf(each, draft.put(RULES, each.rule, each.given.length > 0), options.sites),
  );
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
 * Checks the expected etag of a rule.
 *
 * @param options.expected undefined: any.
 * @throws ABORTED; ALREADY_EXISTS.
 */
export function checkExpected(
  before: Rule | undefined,
  path: string,
  {
    etagOf,
    expected,
  }: { readonly etagOf: RecordEtag<Rule>; readonly expected: string | undefined },
): void {
  if (expected === undefined || expected === etagOf(before)) return;
  if (before === undefined) throw new ServiceError(Code.Aborted, message("RULE_DELETED", { path }));
  if (expected === NO_RECORD)
    throw new ServiceError(Code.AlreadyExists, message("RULE_EXISTS", { path }));
  throw new ServiceError(
    Code.Aborted,
    message("RULE_CHANGED", {
      path,
      revision: before.revision,
      expected: expected.slice(0, 60),
    }),
  );
}

/** Violations for rules with the same path on one site. */
function pathViolations(
  { rule, number }: SavedRule,
  rules: RuleIndex,
  { sites, allows }: SaveRules,
): Violation[] {
  const clash = findClash(rule.path, rule, rules, sites.ids);
  if (clash === undefined) return [];
  const whose = pathsOf(clash.other).every(allows)
    ? message("THE_RULE", { path: clash.other.path })
    : message("ANOTHER_RULE");
  const where =
    clash.site === undefined ? "" : message("ON_SITE", { site: sites.nameOf(clash.site) });
  const field = `rules[${number}].path`;
  return [{ field, description: message("PATH_OF_ANOTHER", { field, whose, where }) }];
}

function resultOf(
  { before, rule, given, warnings }: SavedRule,
  isChanged: boolean,
  sites: SiteNames,
): RecordResult {
  const note =
    warnings.length === 0
      ? ""
      : message("TAKEN_AS_IT_IS", { problems: joinTexts(warnings.slice(0, MAX_WARNINGS)) });
  if (before === undefined) return resultAs(rule.path, "created", note);
  if (!isChanged) return resultAs(rule.path, "unchanged", note);
  const differs = changedMembers(before, rule, { sites, given });
  return { name: rule.path, outcome: "changed", note, differs };
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
