import type { Effect } from "../../history/effect.ts";
import type { RecordChange } from "../../records/effect.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite } from "../../sites/site-choice.ts";
import { RULE_MEMBERS, type Rule, type RuleValues, wantedOn } from "../rule.ts";
import { isManaged, type RuleState } from "./state.ts";

/** Rule on a server: where it is, and what it holds. */
interface Placed {
  readonly path: string;
  readonly values: RuleValues;
}

/**
 * Effects of a change on the servers of sites: rules that are removed or changed, and folders that
 * more people can read or write afterwards.
 *
 * @param sites those whose rules are written to their servers.
 */
export function effectsOf(
  { before, after }: Pick<RecordChange<Rule>, "before" | "after">,
  sites: readonly Pick<Site, "id" | "name">[],
): readonly Effect[] {
  if (before === undefined) return [];
  return sites.flatMap((site) => {
    if (!isOnSite(before, site.id)) return [];
    const isKept = after !== undefined && isOnSite(after, site.id);
    const now = isKept ? wantedOn(after, site.id) : undefined;
    return effectsOn(site, wantedOn(before, site.id), now);
  });
}

/** Effects on the rule of one server. @param after undefined: it is removed there. */
export function effectsOn(
  { name: site }: Pick<Site, "name">,
  before: Placed,
  after: Placed | undefined,
): readonly Effect[] {
  const effect = { site, kind: "rule", path: before.path } as const;
  const remains = after?.path === before.path ? after : undefined;
  const opens: Effect[] = isLooser(before.values, remains?.values)
    ? [{ action: "open", ...effect }]
    : [];
  if (remains === undefined) return [{ action: "remove", ...effect }, ...opens];
  const isChanged = RULE_MEMBERS.some(
    (member) => JSON.stringify(before.values[member]) !== JSON.stringify(remains.values[member]),
  );
  return [...(isChanged ? [{ action: "change", ...effect } as const] : []), ...opens];
}

/** Reports whether more people can read, see or write a folder afterwards. @param after undefined: no rule. */
function isLooser(before: RuleValues, after: RuleValues | undefined): boolean {
  if (after === undefined) return restricts(before);
  const ends = (flag: keyof RuleValues): boolean => before[flag] === true && after[flag] === false;
  const begins = (flag: keyof RuleValues): boolean =>
    before[flag] === false && after[flag] === true;
  const admits = (list: "read_users" | "write_users", sub: keyof RuleValues): boolean => {
    const allowed = new Set(before[list]);
    if (allowed.size === 0) return false;
    return after[list].length === 0 || after[list].some((name) => !allowed.has(name)) || ends(sub);
  };
  const hidden = new Set(after.hide.split("\n"));
  return (
    (before.password !== "" && (after.password === "" || ends("p_sub"))) ||
    (before.hide !== "" &&
      (before.hide.split("\n").some((line) => !hidden.has(line)) || ends("h_sub"))) ||
    admits("read_users", "read_users_sub") ||
    admits("write_users", "write_users_sub") ||
    begins("write") ||
    (after.write && begins("w_sub"))
  );
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
