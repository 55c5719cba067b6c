import { type HistorySites, sitesText } from "../records/history-change.ts";
import {
  NO_VALUES,
  passwordFields,
  RULE_MEMBERS,
  type RuleMember,
  type RuleValues,
} from "./rule.ts";
import { readBody } from "./stored.ts";

/** Items of a stored rule as text, by name, without its passwords and without the values of a new rule. */
export function itemsOfRule(body: string, sites: HistorySites): ReadonlyMap<string, string> {
  const items = new Map<string, string>();
  const rule = readBody(body);
  const addAll = (prefix: string, values: Partial<RuleValues>): void => {
    for (const member of RULE_MEMBERS) {
      const value = values[member];
      if (value !== undefined) items.set(`${prefix}${member}`, textOf(value));
    }
  };
  addAll("", withoutInitial(rule.values));
  items.set("sites", sitesText(rule, sites));
  // An override has only values that replace those of the rule.
  for (const [site, { path, values }] of Object.entries(rule.overrides)) {
    const place = `overrides.${sites.nameOf(site)}.`;
    if (path !== "") items.set(`${place}path`, path);
    addAll(place, values);
  }
  if (rule.missing.length > 0) items.set("missing", passwordFields(rule.missing, sites).join(", "));
  return items;
}

/** Values of a rule without those of a new one. */
function withoutInitial(values: RuleValues): Partial<RuleValues> {
  const isInitial = (member: RuleMember): boolean =>
    String(values[member]) === String(NO_VALUES[member]);
  return Object.fromEntries(
    RULE_MEMBERS.flatMap((member) => (isInitial(member) ? [] : [[member, values[member]]])),
  );
}

function textOf(value: RuleValues[RuleMember]): string {
  return typeof value === "object" ? value.join(", ") : String(value);
}
