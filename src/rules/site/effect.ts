import type { Effect } from "../../history/effect.ts";
import { memoize } from "../../memoize.ts";
import type { RecordChange } from "../../records/effect.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite, pathOn } from "../../sites/site-choice.ts";
import { RULE_MEMBERS, type Rule, type RuleIndex, type RuleValues, wantedOn } from "../rule.ts";
import { linesOf, opensFolder, type ServerRule, type ServerRules } from "./opening.ts";
import { isManaged, type RuleState } from "./state.ts";

/**
 * Effects of a change on the servers of sites: rules that are removed or changed, and folders that
 * more people can read, see or write afterwards, which a new rule of a folder below another one can
 * cause as well.
 *
 * @param sites those whose rules are written to their servers. `has`: whether the server has the rule
 *   before the change.
 */
export function effectsOf(
  { before, after, all }: Pick<RecordChange<Rule>, "before" | "after" | "all">,
  sites: readonly { readonly site: Pick<Site, "id" | "name">; readonly has: boolean }[],
): readonly Effect[] {
  const lines = memoize(linesOf);
  return sites.flatMap(({ site, has }) => {
    const placed = (rule: Rule | undefined): string[] =>
      rule !== undefined && isOnSite(rule, site.id) ? [pathOn(rule, site.id)] : [];
    const [from] = has ? placed(before) : [];
    const paths = new Set([...(from === undefined ? [] : [from]), ...placed(after)]);
    const rules: ServerRules = {
      // The server lacks the changed rule, or has one at its path that Mooring does not manage.
      before: (folder) => ruleAt(all.before(), folder, site.id, has ? undefined : before),
      after: (folder) => ruleAt(all.after(), folder, site.id, undefined),
      lines,
    };
    return [...paths].flatMap((path) => effectsAt(site, path, rules));
  });
}

/** Rule of a folder on a site. @param absent one that does not count. */
function ruleAt(
  rules: RuleIndex,
  folder: string,
  siteId: string,
  absent: Rule | undefined,
): ServerRule | undefined {
  for (const [, rule] of rules.at([folder]))
    if (rule !== absent && isOnSite(rule, siteId) && pathOn(rule, siteId) === folder)
      return wantedOn(rule, siteId);
  return undefined;
}

/** Effects on the rule of one folder of a server, and on the folder. */
export function effectsAt(
  { name: site }: Pick<Site, "name">,
  path: string,
  rules: ServerRules,
): readonly Effect[] {
  const effect = { site, kind: "rule", path } as const;
  const before = rules.before(path)?.values;
  const after = rules.after(path)?.values;
  const isChanged = RULE_MEMBERS.some(
    (member) => JSON.stringify(before?.[member]) !== JSON.stringify(after?.[member]),
  );
  const effects: Effect[] = [];
  if (before !== undefined && after === undefined) effects.push({ action: "remove", ...effect });
  else if (before !== undefined && isChanged) effects.push({ action: "change", ...effect });
  if (opensFolder(path, rules)) effects.push({ action: "open", ...effect });
  return effects;
}

/**
 * Effects on rules of the server when a site begins to follow, from the last read of it. Its values
 * are not kept: whether a folder opens is in the comparison before a sync.
 */
export function effectsOfFollowing(
  site: Pick<Site, "id" | "name">,
  rules: ReadonlyMap<string, Rule>,
  states: ReadonlyMap<string, RuleState>,
): readonly { readonly name: string; readonly effects: readonly Effect[] }[] {
  return [...states].flatMap(([name, state]) => {
    if (state.id === 0 || state.absent || !isManaged(state)) return [];
    const rule = rules.get(name);
    const isWanted = rule !== undefined && isOnSite(rule, site.id);
    if (isWanted && state.differs.length === 0) return [];
    const action = isWanted ? "change" : "remove";
    const effect = { action, site: site.name, kind: "rule", path: state.path } as const;
    return [{ name, effects: [effect] }];
  });
}

/** Reports whether a rule limits who can read, see or write a folder. */
export function restricts({ password, hide, read_users, write_users }: RuleValues): boolean {
  return password !== "" || hide !== "" || read_users.length > 0 || write_users.length > 0;
}
