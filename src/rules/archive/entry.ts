import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import { isObject } from "../../is-object.ts";
import { joinTexts, message, type Text } from "../../messages/message.ts";
import { didYouMean } from "../../messages/nearest.ts";
import { ownValue } from "../../own-value.ts";
import { readUnchecked } from "../../records/unchecked.ts";
import { MASK } from "../../settings/value.ts";
import { overridesByName, siteNamesOf } from "../../sites/site-choice.ts";
import type { ChosenSites } from "../../sites/site-choice-input.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { cleanPath } from "../../sites/site-path.ts";
import { type OverrideInput, type RuleInput, uncheckedValues } from "../input.ts";
import { NO_VALUES, RULE_MEMBERS, type Rule, type RuleValues } from "../rule.ts";
import { PASSWORD } from "../stored.ts";
import type { ValueInput } from "../value.ts";

/** Name of a password in an entry. Names of sites have no slash. @param site empty: the rule's. */
export function secretName(site: string): string {
  return site === "" ? PASSWORD : `overrides/${site}/${PASSWORD}`;
}

/** Name of the site of a password; empty: the rule's. Undefined: no password has the name. */
function siteOfSecret(name: string): string | undefined {
  if (name === PASSWORD) return "";
  return /^overrides\/([^/]+)\/password$/.exec(name)?.[1];
}

/**
 * Passwords of a rule that a change replaces or removes, named as in an archive.
 *
 * @param change.differs names as in `changedMembers`.
 * @param options.reveals whether the caller may learn if a password of a site differs; otherwise each
 *   counts as replaced.
 */
export function replacedPasswords(
  change: { readonly before: Rule; readonly after: Rule; readonly differs: readonly string[] },
  { nameOf, reveals }: { readonly nameOf: SiteNames["nameOf"]; readonly reveals: boolean },
): readonly string[] {
  const { before, after, differs } = change;
  const isOwn = before.values.password !== "" && differs.includes(PASSWORD);
  const ofSites = Object.entries(before.overrides).flatMap(([id, { values }]) => {
    const { password = "" } = values;
    const site = nameOf(id);
    const isReplaced = !reveals || after.overrides[id]?.values.password !== password;
    const isChanged = password !== "" && differs.includes(`overrides.${site}`) && isReplaced;
    return isChanged ? [secretName(site)] : [];
  });
  return [...(isOwn ? [PASSWORD] : []), ...ofSites];
}

/** Converts a rule to an entry. @param options.isShown whether passwords are included. */
export function ruleToEntry(
  rule: Rule,
  { sites, isShown }: { readonly sites: SiteNames; readonly isShown: boolean },
): ArchiveEntry {
  const secrets: Record<string, SecretValue> = {};
  const missing = rule.missing.flatMap((id) => {
    const site = id === "" ? "" : sites.nameOf(id);
    return id !== "" && site === "" ? [] : [secretName(site)];
  });
  const add = (site: string, password: string): void => {
    if (isShown) secrets[secretName(site)] = password;
    else missing.push(secretName(site));
  };
  if (rule.values.password !== "") add("", rule.values.password);
  const overrides = overridesByName(rule, sites).map(([site, { path, values }]) => {
    const { password = "", ...open } = values;
    if (password !== "") add(site, password);
    const isEmpty = values.password === "";
    return [site, { ...(path !== "" && { path }), ...open, ...(isEmpty && { password }) }];
  });
  const chosen = siteNamesOf(rule, sites);
  const unchecked = uncheckedValues(rule, sites);
  return {
    name: rule.path,
    content: {
      ...changedValues(rule.values),
      sites: chosen.length === 0 ? "none" : chosen,
      ...(overrides.length > 0 && { overrides: Object.fromEntries(overrides) }),
      ...(Object.keys(unchecked).length > 0 && { unchecked }),
    },
    secrets,
    missing: missing.sort(),
    isSealed: false,
  };
}

/** Values other than those of a new rule, without the password. */
function changedValues(values: RuleValues): Partial<RuleValues> {
  return Object.fromEntries(
    RULE_MEMBERS.flatMap((member) => {
      const value = values[member];
      const isDefault = JSON.stringify(value) === JSON.stringify(NO_VALUES[member]);
      return member === PASSWORD || isDefault ? [] : [[member, value]];
    }),
  );
}

/** Problem of an entry, by the path of its member. It never quotes a value. */
export interface EntryProblem {
  readonly path: readonly string[];
  readonly problem: Text;
}

export interface ReadEntry {
  readonly input: RuleInput;
  /** Problems of the form of the entry. */
  readonly problems: readonly EntryProblem[];
  /** Problems of sites that do not exist here. */
  readonly hints: readonly Text[];
  /** Whether the entry names sites, and none of them exists here. */
  readonly isNowhere: boolean;
}

/**
 * Reads an entry as an input that replaces the whole rule. Passwords that the archive lacks stay as
 * they are.
 *
 * @param before the rule with this path; undefined: none.
 * @param options.renamed names of sites here, by their names in the archive.
 */
export function readEntry(
  { name, content, secrets, missing }: ArchiveEntry,
  before: Rule | undefined,
  { names, renamed }: { readonly names: SiteNames; readonly renamed: ReadonlyMap<string, string> },
): ReadEntry {
  const problems: EntryProblem[] = [];
  const complain = (path: readonly string[], problem: Text): void => {
    problems.push({ path, problem });
  };
  const given = new Map<string, SecretValue | undefined>();
  for (const secret of [...Object.keys(secrets), ...missing]) {
    const site = siteOfSecret(secret);
    if (site === undefined)
      complain(["secrets"], message("RULE_SECRET_UNKNOWN", { name: secret.slice(0, 64) }));
    else given.set(site, ownValue(secrets, secret));
  }
  const here = (site: string): string => renamed.get(site) ?? site;
  const isKnown = (site: string): boolean => names.idOf(here(site)) !== undefined;
  const lost: string[] = [];
  const withPassword = (values: ValueInput, site: string): ValueInput => {
    if (!given.has(site)) return values;
    const id = site === "" ? "" : (names.idOf(here(site)) ?? "");
    const now = site === "" ? before?.values.password : before?.overrides[id]?.values.password;
    const password = given.get(site);
    if (password !== undefined) return { ...values, password };
    if ((now ?? "") !== "") return { ...values, password: MASK };
    lost.push(site === "" ? "" : here(site));
    return values;
  };
  const { sites, overrides: own, unchecked: asIs, ...open } = content;
  const unchecked = readUnchecked(asIs);
  if (unchecked === undefined)
    complain(["unchecked"], message("VALUE_NOT_MAPPING", { field: "unchecked" }));
  checkMembers(open, [], complain);
  const chosen = readSites(sites);
  if (sites !== undefined && chosen === undefined)
    complain(["sites"], message("SITES_OF_ENTRY", { field: "sites" }));
  if (own !== undefined && !isObject(own))
    complain(["overrides"], message("VALUE_NOT_MAPPING", { field: "overrides" }));
  const places = isObject(own) ? Object.keys(own) : [];
  const all = [...new Set([...places, ...[...given.keys()].filter((site) => site !== "")])];
  const overrides = all.flatMap((site): [string, OverrideInput][] => {
    const values = isObject(own) ? (ownValue(own, site) ?? {}) : {};
    if (!isObject(values)) {
      complain(["overrides", site], message("VALUE_NOT_MAPPING", { field: site }));
      return [];
    }
    const { path = "", ...few } = values;
    checkMembers(few, ["overrides", site], complain);
    if (typeof path !== "string")
      complain(["overrides", site, "path"], message("VALUE_NOT_TEXT", { field: "path" }));
    if (!isKnown(site)) return [];
    return [[here(site), { path: String(path), values: withPassword(few, site) }]];
  });
  const asked = typeof chosen === "object" ? chosen : [];
  const strangers = [...new Set([...asked, ...all].filter((site) => !isKnown(site)))];
  return {
    input: {
      path: cleanPath(name),
      values: withPassword(open, ""),
      sites: typeof chosen === "object" ? asked.filter(isKnown).map(here) : chosen,
      overrides: Object.fromEntries(overrides),
      lost,
      unchecked,
      leftOut: [
        ...asked.filter((site) => !isKnown(site)).map((site) => `sites.${site}`),
        ...all.filter((site) => !isKnown(site)).map((site) => `overrides.${site}`),
      ],
    },
    problems,
    hints: strangers.map((site) => names.problemOf(here(site)) ?? ""),
    isNowhere: asked.length > 0 && !asked.some(isKnown),
  };
}

/** Maximum number of unknown sites in a note. */
const MAX_HINTS = 5;

/**
 * Input that replaces a rule by an entry of an archive, or the reason for which the entry is skipped.
 * Sites that do not exist here are left out, unless the entry names no other.
 */
export function entryToInput(
  ...entry: Parameters<typeof readEntry>
): { readonly input: RuleInput; readonly note: Text } | { readonly reason: Text } {
  const { input, problems, hints, isNowhere } = readEntry(...entry);
  const [first] = problems;
  if (first !== undefined) {
    const { path, problem } = first;
    return { reason: message("NAMED_PROBLEM", { name: path.join("."), problem }) };
  }
  if (isNowhere) return { reason: hints[0] ?? "" };
  return { input, note: joinTexts(hints.slice(0, MAX_HINTS)) };
}

/** Undefined: not a choice of sites. */
function readSites(sites: unknown): ChosenSites | undefined {
  if (sites === "all") return "all";
  if (sites === "none") return [];
  const isNames = Array.isArray(sites) && sites.every((site) => typeof site === "string");
  return isNames && sites.length > 0 ? sites : undefined;
}

function checkMembers(
  values: Readonly<Record<string, unknown>>,
  place: readonly string[],
  complain: (path: readonly string[], problem: Text) => void,
): void {
  const known: readonly string[] = RULE_MEMBERS;
  for (const member of Object.keys(values))
    if (!known.includes(member))
      complain(
        [...place, member],
        message("RULE_MEMBER_UNKNOWN", {
          name: JSON.stringify(member.slice(0, 64)),
          hint: didYouMean(member, known),
        }),
      );
}
