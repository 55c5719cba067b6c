import { RULE_MEMBERS, type RuleMember, type WantedRule } from "../rule.ts";
import { hasUsers, isUserMember, memberOf, type RuleRow, type SiteUsers } from "./row.ts";

/**
 * Names of the members that differ between a site's row and Mooring's rule, `path` included. Members
 * that the server does not have are skipped, and the order of users is ignored.
 *
 * @param sent revision of the password that was last sent: a newer one that was set blindly counts
 *   as different.
 */
export function compareRule(
  wanted: WantedRule,
  row: RuleRow,
  { users, sent }: { readonly users: Pick<SiteUsers, "nameOf">; readonly sent: number },
): readonly string[] {
  const isComparable = hasUsers(row) ? () => true : (member: RuleMember) => !isUserMember(member);
  const differs = RULE_MEMBERS.filter((member) => {
    if (!isComparable(member)) return false;
    if (member === "password" && wanted.blindRevision > sent) return true;
    return !isSame(wanted.values[member], memberOf(row, member, users));
  });
  return [...(wanted.path === row.path ? [] : ["path"]), ...differs];
}

type Value = WantedRule["values"][RuleMember];

function isSame(a: Value, b: Value): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  const names = new Set(a);
  return names.size === new Set(b).size && b.every((name) => names.has(name));
}
