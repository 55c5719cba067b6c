import type { RecordResult } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { NO_RECORD } from "../../ledger/record-etag.ts";
import { joinTexts } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { RecordEtag } from "../../records/etag.ts";
import { removeAllFromSite } from "../../records/leave.ts";
import { saveEach } from "../../records/save-each.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite, siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { RuleInput } from "../input.ts";
import { SITE_RULES } from "../kind.ts";
import {
  RULE_MEMBERS,
  type Rule,
  type RuleIndex,
  type RuleMember,
  type RuleValues,
  type WantedRule,
} from "../rule.ts";
import type { SaveRules } from "../save.ts";
import { ruleSaver } from "../saver.ts";
import { compareRule } from "./compare.ts";
import type { RuleRound } from "./round.ts";
import {
  hasUsers,
  hideWarning,
  isUserMember,
  NO_USERS,
  type RuleRow,
  type SiteUsers,
  valuesOf,
} from "./row.ts";
import { FREE, isManaged, NEW_RULE, type RuleState } from "./state.ts";

/** Rule of a site, for adoption. */
export interface FoundRule {
  /** Path of the rule in Mooring. */
  readonly name: string;
  readonly row: RuleRow;
}

/** Content of a site that Mooring lacks or has with other values. */
export interface FoundRules {
  readonly rules: readonly FoundRule[];
  /** Names of rules that were deleted on the site. */
  readonly gone: readonly string[];
}

/**
 * Finds what an adoption changes: rules that Mooring does not have, those that differ, and those
 * that were deleted on the site.
 *
 * @param options.names only these rules, or paths of new ones; empty: all.
 * @param options.known states of the site's rules.
 */
export function findRules(
  round: RuleRound,
  options: {
    readonly names: readonly string[];
    readonly wanted: readonly WantedRule[];
    readonly known: ReadonlyMap<string, RuleState>;
  },
): FoundRules {
  const names = new Set(options.names);
  const isRequested = (...any: string[]): boolean =>
    names.size === 0 || any.some((one) => names.has(one));
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const rules: FoundRule[] = [];
  const gone: string[] = [];
  for (const { name, path, isIncomplete } of options.wanted) {
    const state = ownValue(round.states, name) ?? options.known.get(name) ?? NEW_RULE;
    const row = state.absent ? undefined : byId.get(state.id);
    if (!isRequested(name, path)) continue;
    if (row === undefined) {
      if (isManaged(state)) gone.push(name);
    } else if (state.differs.length > 0 || isIncomplete) rules.push({ name, row });
  }
  for (const row of round.extra) if (isRequested(row.path)) rules.push({ name: row.path, row });
  return { rules, gone };
}

/**
 * Converts a site's rule to an input. For a rule of several sites or with own values of the site,
 * differing values become the site's own. The input is rejected when the rule has changed since.
 *
 * @param before current rule at the path in Mooring; undefined: none.
 */
export function foundInput(
  { name, row }: FoundRule,
  before: Rule | undefined,
  site: Pick<Site, "id" | "name">,
  {
    users,
    sites,
    etagOf,
  }: {
    readonly users: Pick<SiteUsers, "nameOf">;
    readonly sites: SiteNames;
    readonly etagOf: RecordEtag<Rule>;
  },
): RuleInput {
  const there = valuesOf(row, users);
  if (before === undefined)
    return { path: name, values: there, sites: [site.name], expectedEtag: NO_RECORD };
  const expectedEtag = etagOf(before);
  const own = before.overrides[site.id];
  const isHere = isOnSite(before, site.id);
  const isShared = sites.ids.some((id) => id !== site.id && isOnSite(before, id));
  const members = RULE_MEMBERS.filter((member) => hasUsers(row) || !isUserMember(member));
  if (isHere && !isShared && own === undefined)
    return { path: name, values: chosen(there, members), expectedEtag };
  const values: Partial<RuleValues> = {
    ...own?.values,
    ...chosen(there, members),
  };
  const differing = RULE_MEMBERS.filter(
    (member) =>
      values[member] !== undefined &&
      // A lost password is given, whatever it is.
      (before.missing.length > 0 && member === "password"
        ? true
        : JSON.stringify(values[member]) !== JSON.stringify(before.values[member])),
  );
  return {
    path: name,
    values: {},
    expectedEtag,
    ...(!isHere && { sites: withSite(siteNamesOf(before, sites), site.name) }),
    overrides: {
      [site.name]: { path: own?.path ?? "", values: chosen(values, differing) },
    },
  };
}

function chosen(values: Partial<RuleValues>, members: readonly RuleMember[]): Partial<RuleValues> {
  return Object.fromEntries(members.map((member) => [member, values[member]]));
}

function withSite(names: "all" | readonly string[], name: string): "all" | readonly string[] {
  return names === "all" ? names : [...names, name];
}

/**
 * Saves each rule of a site by itself on a draft, and deletions. A rule that is rejected is skipped,
 * with the reason.
 *
 * @param rules all rules of the draft; updated with the saved ones.
 */
export async function takeRules(
  draft: Draft,
  found: FoundRules,
  rules: RuleIndex,
  {
    site,
    users,
    options,
  }: {
    readonly site: Pick<Site, "id" | "name">;
    readonly users: Pick<SiteUsers, "nameOf">;
    readonly options: SaveRules;
  },
): Promise<readonly RecordResult[]> {
  const rowOf = new Map(found.rules.map(({ name, row }) => [name, row]));
  const inputs = found.rules.map((rule) =>
    foundInput(rule, rules.get(rule.name), site, { ...options, users }),
  );
  const saver = ruleSaver(draft, options);
  const withWarning = (result: RecordResult): RecordResult => {
    const row = rowOf.get(result.name);
    if (row === undefined || result.outcome === "skipped") return result;
    return { ...result, note: joinTexts([result.note, hideWarning(row)]) };
  };
  const saved = await saveEach(SITE_RULES, saver, inputs, rules);
  const place = { siteId: site.id, sites: options.sites, managedBy: options.managedBy };
  const gone = removeAllFromSite(draft, SITE_RULES, found.gone, place);
  return [...saved.map(withWarning), ...gone];
}

/** States of adopted rules: both sides are equal, passwords included. */
export function adoptedStates(
  found: FoundRules,
  wanted: ReadonlyMap<string, WantedRule>,
  known: ReadonlyMap<string, RuleState>,
  users: SiteUsers | undefined,
): Readonly<Record<string, RuleState>> {
  return Object.fromEntries(
    found.rules.flatMap(({ name, row }) => {
      const rule = wanted.get(name);
      if (rule === undefined) return [];
      const { revision } = rule;
      const state: RuleState = {
        ...(known.get(name) ?? NEW_RULE),
        ...FREE,
        id: row.id,
        path: row.path,
        creating: false,
        applied: revision,
        tried: revision,
        sent: revision,
        differs: compareRule(rule, row, { users: users ?? NO_USERS, sent: revision }),
        absent: false,
        corrections: [],
      };
      return [[name, state] as const];
    }),
  );
}
