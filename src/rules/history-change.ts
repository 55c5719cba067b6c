import { type HistorySites, sitesText } from "../records/history-change.ts";
import { passwordFields, RULE_MEMBERS, type RuleValues } from "./rule.ts";
import { readBody } from "./stored.ts";

/** Items of a stored rule as text, by name, without its passwords and without those of a new rule. */
export function itemsOfRule(body: string, sites: HistorySites): ReadonlyMap<string, string> {
  const items = new Map<string, string>();
  const rule = readBody(body);
  const add = (prefix: string, values: Partial<RuleValues>, hasDefaults: boolean): void => {
    for (const member of RULE_MEMBERS) {
      const value = values[member];
      const text = typeof value === "object" ? value.join(", ") : String(value ?? "");
      if (value !== undefined && !(hasDefaults && ["", "false"].includes(text)))
        items.set(`${prefix}${member}`, text);
    }
  };
  add("", rule.values, true);
  items.set("sites", sitesText(rule, sites));
  for (const [site, { path, values }] of Object.entries(rule.overrides)) {
    const place = `overrides.${sites.nameOf(site)}.`;
    if (path !== "") items.set(`${place}path`, path);
    add(place, values, false);
  }
  if (rule.missing.length > 0) items.set("missing", passwordFields(rule.missing, sites).join(", "));
  return items;
}
