import type { BlindSecret } from "../records/secret-place.ts";
import type { PathIndex } from "../sites/path-index.ts";
import { isOnSite, pathOn, type SiteIds } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";

/** Values of a folder rule, by the servers' names of them. */
export interface RuleValues {
  /** Empty: none. */
  readonly password: string;
  readonly p_sub: boolean;
  readonly write: boolean;
  readonly w_sub: boolean;
  /** Regular expressions of hidden names, one a line; empty: none. */
  readonly hide: string;
  readonly h_sub: boolean;
  readonly readme: string;
  readonly r_sub: boolean;
  readonly header: string;
  readonly header_sub: boolean;
  /** Names of users, unique and in order; ids differ between servers. Empty: all users. */
  readonly read_users: readonly string[];
  readonly read_users_sub: boolean;
  readonly write_users: readonly string[];
  readonly write_users_sub: boolean;
}

export type RuleMember = keyof RuleValues;

/** Values of a new rule, which has no effect. */
export const NO_VALUES: RuleValues = Object.freeze({
  password: "",
  p_sub: false,
  write: false,
  w_sub: false,
  hide: "",
  h_sub: false,
  readme: "",
  r_sub: false,
  header: "",
  header_sub: false,
  read_users: [],
  read_users_sub: false,
  write_users: [],
  write_users_sub: false,
});

/** Members of a rule, in the order of the contract. */
export const RULE_MEMBERS = Object.keys(NO_VALUES) as readonly RuleMember[];

/** Members that only servers of OpenList from 4.2.5 have. Other servers ignore them. */
export const USER_MEMBERS = [
  "read_users",
  "read_users_sub",
  "write_users",
  "write_users_sub",
] as const satisfies readonly RuleMember[];

/** Values that replace those of a rule on one site. */
export interface RuleOverride {
  /** As `cleanPath` returns it. Empty: the rule's. */
  readonly path: string;
  readonly values: Partial<RuleValues>;
}

/** Desired folder rule of sites, with passwords in the clear. */
export interface Rule {
  /** Name of the rule, as `cleanPath` returns it. Unique. */
  readonly path: string;
  readonly values: RuleValues;
  /** Ids of the sites that have it. `all`: also those that are created later. */
  readonly siteIds: SiteIds;
  /** By the site's id. */
  readonly overrides: Readonly<Record<string, RuleOverride>>;
  /** Passwords set by callers who may not read them; absent: none. */
  readonly blind?: readonly Omit<BlindSecret, "item">[];
  /**
   * Passwords whose values are lost: ids of the sites whose overrides had them; empty text: the
   * rule itself. A rule is not sent to a site that needs one of them: without its password, the
   * folder would be open.
   */
  readonly missing: readonly string[];
  /** Revision of the last change; 0: it is not stored. */
  readonly revision: number;
}

/** Rules by path, with an index of their paths on any site. */
export type RuleIndex = PathIndex<Rule>;

/** Desired rule on one site, with the site's values. */
export interface WantedRule {
  /** Path of the rule in Mooring, its name. */
  readonly name: string;
  /** Path on the site. */
  readonly path: string;
  readonly values: RuleValues;
  /** Whether the password is lost. Such a rule is not sent to the site. */
  readonly isIncomplete: boolean;
  /** Revision in which the password was set blindly; 0: it was not. */
  readonly blindRevision: number;
  /** Revision of the rule's last change. */
  readonly revision: number;
}

/** Reports whether the password of a rule on a site is lost. */
export function isIncompleteOn(
  { missing, overrides }: Pick<Rule, "missing" | "overrides">,
  siteId: string,
): boolean {
  if (overrides[siteId]?.values.password !== undefined) return false;
  return missing.includes("") || missing.includes(siteId);
}

/** Desired rule on a site. */
export function wantedOn(rule: Rule, siteId: string): WantedRule {
  const own = rule.overrides[siteId]?.values ?? {};
  const place = own.password === undefined ? "" : siteId;
  return {
    name: rule.path,
    path: pathOn(rule, siteId),
    values: { ...rule.values, ...own },
    isIncomplete: isIncompleteOn(rule, siteId),
    blindRevision: rule.blind?.find(({ site }) => site === place)?.revision ?? 0,
    revision: rule.revision,
  };
}

/** Removes a site from a rule, with the site's own values. A rule without sites stays on none. */
export function withoutSite(rule: Rule, siteId: string): Rule {
  const { [siteId]: _own, ...overrides } = rule.overrides;
  return {
    ...rule,
    siteIds: rule.siteIds === "all" ? "all" : rule.siteIds.filter((each) => each !== siteId),
    overrides,
    missing: rule.missing.filter((site) => site !== siteId),
  };
}

/** Names of passwords in the notation of violations, such as `overrides.home.password`. */
export function passwordFields(
  sites: readonly string[],
  { nameOf }: Pick<SiteNames, "nameOf">,
): string[] {
  return sites.map((site) => passwordField(site, { nameOf }));
}

/** Name of a password in the notation of violations. @param site empty: the rule's own. */
export function passwordField(site: string, { nameOf }: Pick<SiteNames, "nameOf">): string {
  return site === "" ? "password" : `overrides.${nameOf(site)}.password`;
}

/** Sites that get each password of a rule, by the place of the password. Empty passwords have none. */
export function reachOfPasswords(
  rule: Rule,
  siteIds: readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const reach = new Map<string, Set<string>>();
  for (const siteId of siteIds) {
    if (!isOnSite(rule, siteId)) continue;
    const own = rule.overrides[siteId]?.values.password;
    const place = own === undefined ? "" : siteId;
    if ((own ?? rule.values.password) === "") continue;
    reach.set(place, (reach.get(place) ?? new Set()).add(siteId));
  }
  return reach;
}
