import type { ItemChange, RecordChange } from "../history/kind.ts";
import type { StoredChange } from "../ledger/store.ts";
import { MASK } from "../settings/value.ts";
import { siteNamesOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { passwordFields, RULE_MEMBERS, type RuleValues } from "./rule.ts";
import { partOf, readBody, shownPasswords } from "./stored.ts";
import { REMOVED, subjectOf } from "./subject.ts";

/** Change of a rule, item by item. */
export function describeRuleChange(
  change: StoredChange,
  sites: Pick<SiteNames, "nameOf">,
): RecordChange {
  const names = { nameOf: (id: string): string => sites.nameOf(id) || REMOVED };
  const before = itemsOf(change.oldBody, names);
  const after = itemsOf(change.newBody, names);
  const open = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): ItemChange[] => {
    const [oldValue, newValue] = [before.get(name), after.get(name)];
    return oldValue === newValue ? [] : [{ name, oldValue, newValue, secret: false }];
  });
  const mask = (hashes: StoredChange["oldHashes"], part: string): string | undefined =>
    hashes !== null && Object.hasOwn(hashes, part) ? MASK : undefined;
  const passwords = shownPasswords(change).map((site): ItemChange => {
    const [name = ""] = passwordFields([site], names);
    const part = partOf(site);
    const [oldValue, newValue] = [mask(change.oldHashes, part), mask(change.newHashes, part)];
    return { name, oldValue, newValue, secret: true };
  });
  return {
    key: subjectOf(change.key),
    kind: change.oldBody === null ? "added" : change.newBody === null ? "deleted" : "changed",
    secret: false,
    items: [...open, ...passwords],
  };
}

/** Items of a rule as text, by name, without its passwords and without those of a new rule. */
function itemsOf(
  stored: string | null,
  names: Pick<SiteNames, "nameOf">,
): ReadonlyMap<string, string> {
  const items = new Map<string, string>();
  if (stored === null) return items;
  const rule = readBody(stored);
  const add = (prefix: string, values: Partial<RuleValues>, hasDefaults: boolean): void => {
    for (const member of RULE_MEMBERS) {
      const value = values[member];
      const text = typeof value === "object" ? value.join(", ") : String(value ?? "");
      if (value !== undefined && !(hasDefaults && ["", "false"].includes(text)))
        items.set(`${prefix}${member}`, text);
    }
  };
  add("", rule.values, true);
  const sites = siteNamesOf(rule, names);
  items.set("sites", sites === "all" ? sites : sites.length === 0 ? "none" : sites.join(", "));
  for (const [site, { path, values }] of Object.entries(rule.overrides)) {
    const place = `overrides.${names.nameOf(site)}.`;
    if (path !== "") items.set(`${place}path`, path);
    add(place, values, false);
  }
  if (rule.missing.length > 0) items.set("missing", passwordFields(rule.missing, names).join(", "));
  return items;
}
