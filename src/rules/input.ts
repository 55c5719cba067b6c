import { isDeepStrictEqual } from "node:util";
import type { Violation } from "../messages/error.ts";
import { message, problemAt, type Text } from "../messages/message.ts";
import { ownValue, setOwn } from "../own-value.ts";
import { isUnchecked, type UncheckedValues } from "../records/unchecked.ts";
import { MASK } from "../settings/value.ts";
import { type ChosenSites, chosenSites, overridesById } from "../sites/site-choice-input.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { cleanPath, pathProblem } from "../sites/site-path.ts";
import {
  NO_VALUES,
  type Rule,
  type RuleMember,
  type RuleOverride,
  type RuleValues,
} from "./rule.ts";
import { readValues, tidyValues, type ValueInput } from "./value.ts";

export interface OverrideInput {
  /** Empty: the rule's. */
  readonly path: string;
  /** `********` keeps the password. */
  readonly values: ValueInput;
}

/** Client's input for a rule. Undefined members stay unchanged. */
export interface RuleInput {
  readonly path: string;
  /** `********` keeps the password. */
  readonly values: ValueInput;
  readonly sites?: ChosenSites | undefined;
  /** By the site's name, each whole. */
  readonly overrides?: Readonly<Record<string, OverrideInput>> | undefined;
  /**
   * Passwords whose values are missing in the source, by the site's name; empty text: the rule
   * itself. The rule is incomplete until they are given.
   */
  readonly lost?: readonly string[];
  /** Values of the source that are not taken, because stored secrets stay. Named as in an archive. */
  readonly kept?: readonly string[];
  /** Values of the source that the rule does not keep. */
  readonly leftOut?: readonly string[];
  /** Values that are taken as they are although a form refuses or changes them. */
  readonly unchecked?: UncheckedValues | undefined;
  /** Etag that the rule must have; 0: it must not exist. Undefined: any. */
  readonly expectedEtag?: string | undefined;
}

export interface InputRules {
  /** Beginning of the fields of violations, such as `rules[3].`. */
  readonly field: string;
  readonly sites: SiteNames;
  /**
   * Whether the values come from a site or a document: they are taken as they are, and their
   * problems are warnings.
   */
  readonly carries?: boolean;
  /** Whether the input replaces the whole rule. */
  readonly isWhole?: boolean;
}

export interface CheckedRule {
  readonly rule: Rule;
  readonly violations: readonly Violation[];
  /** Problems of values that are taken as their source has them. */
  readonly warnings: readonly Text[];
  /** Passwords that the client gave: ids of the sites, empty text: of the rule itself. */
  readonly given: readonly string[];
}

/** Maximum size of a rule with all its values on sites, in bytes of UTF-8. */
const MAX_BYTES = 262_144;

/**
 * Applies a client's input to a rule. Violations have fields such as `rules[3].overrides.home.hide`
 * and never quote a password. Problems of values that stay unchanged are no violations.
 *
 * @param before current rule; undefined: a new one.
 */
export function withRuleInput(
  before: Rule | undefined,
  input: RuleInput,
  { field, sites, carries = false, isWhole = false }: InputRules,
): CheckedRule {
  const violations: Violation[] = [];
  const warnings: Text[] = [];
  const report = (at: string, problem: Text | undefined): void => {
    if (problem !== undefined)
      violations.push({
        field: `${field}${at}`,
        description: problemAt(`${field}${at}`, problem),
      });
  };
  const read = (
    prefix: string,
    values: ValueInput,
    known: Partial<RuleValues> | undefined,
  ): Partial<RuleValues> => {
    const kept = keptValues(values, known);
    const asIs = Object.fromEntries(
      Object.entries(values).filter(([member, value]) =>
        isUnchecked(input.unchecked, `${prefix}${member}`, value),
      ),
    );
    const checked = carries ? values : { ...tidyValues(values), ...kept, ...asIs };
    return readValues(checked, (member, problem) => {
      if (carries || Object.hasOwn(asIs, member))
        warnings.push(problemAt(`${prefix}${member}`, problem));
      else if (!Object.hasOwn(kept, member)) report(`${prefix}${member}`, problem);
    });
  };
  report("path", pathProblem(input.path));
  const siteIds = chosenSites(before, input.sites, sites, report);
  const overrideInputs = overridesById(input.overrides, sites, report);
  const { password, ...others } = read("", withoutMask(input.values), before?.values);
  const overrides: Record<string, RuleOverride> = isWhole ? {} : { ...before?.overrides };
  for (const [site, override] of Object.entries(overrideInputs)) {
    const prefix = `overrides.${sites.nameOf(site) || site}.`;
    if (override.path !== "") report(`${prefix}path`, pathProblem(override.path));
    const known = before?.overrides[site]?.values;
    const own = read(prefix, withoutMask(override.values), known);
    const kept = known?.password;
    const values =
      keepsPassword(override.values) && kept !== undefined ? { ...own, password: kept } : own;
    overrides[site] = { path: override.path === "" ? "" : cleanPath(override.path), values };
  }
  const rule: Rule = {
    path: input.path,
    values: {
      ...(before === undefined || isWhole ? NO_VALUES : before.values),
      ...others,
      password: keepsPassword(input.values)
        ? (before?.values.password ?? "")
        : (password ?? (isWhole ? "" : (before?.values.password ?? ""))),
    },
    siteIds,
    overrides: Object.fromEntries(
      Object.entries(overrides).filter(
        ([, { path, values }]) => path !== "" || Object.keys(values).length > 0,
      ),
    ),
    ...(before?.blind !== undefined && { blind: before.blind }),
    missing: missingAfter(before, input, { overrideInputs, sites, isWhole }),
    revision: before?.revision ?? 0,
  };
  if (Buffer.byteLength(JSON.stringify(rule)) > MAX_BYTES)
    report("overrides", message("RULE_TOO_LARGE", { most: MAX_BYTES / 1_024 }));
  const given = [
    ...(isGiven(input.values) ? [""] : []),
    ...Object.entries(overrideInputs).flatMap(([site, { values }]) =>
      isGiven(values) ? [site] : [],
    ),
  ];
  return { rule, violations, warnings, given };
}

/** Values of a rule that a form would refuse or change; of passwords their fields alone. */
export function uncheckedValues(
  { values, overrides }: Pick<Rule, "values" | "overrides">,
  { nameOf }: Pick<SiteNames, "nameOf">,
): UncheckedValues {
  const unchecked: Record<string, unknown> = {};
  const collect = (prefix: string, own: Partial<RuleValues>): void => {
    const add = (member: RuleMember): void =>
      setOwn(unchecked, `${prefix}${member}`, member === "password" ? null : own[member]);
    if (!isDeepStrictEqual(tidyValues(own), own)) add("hide");
    readValues(own, add);
  };
  collect("", values);
  for (const [site, own] of Object.entries(overrides))
    if (nameOf(site) !== "") collect(`overrides.${nameOf(site)}.`, own.values);
  return unchecked;
}

/** Values of an input that the rule has already, such as those that were adopted from a server. */
function keptValues(values: ValueInput, known: ValueInput = {}): ValueInput {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([member, value]) =>
        member !== "password" && isDeepStrictEqual(value, ownValue(known, member)),
    ),
  );
}

function keepsPassword({ password }: ValueInput): boolean {
  return password === MASK;
}

function isGiven({ password }: ValueInput): boolean {
  return password !== undefined && password !== MASK;
}

function withoutMask(values: ValueInput): ValueInput {
  if (!keepsPassword(values)) return values;
  const { password: _mask, ...others } = values;
  return others;
}

/** Lost passwords of a rule after an input: a given one, also an empty one, ends the loss. */
function missingAfter(
  before: Rule | undefined,
  input: RuleInput,
  {
    overrideInputs,
    sites,
    isWhole,
  }: {
    readonly overrideInputs: Readonly<Record<string, OverrideInput>>;
    readonly sites: SiteNames;
    readonly isWhole: boolean;
  },
): readonly string[] {
  const lost = (input.lost ?? []).flatMap((name) => (name === "" ? "" : (sites.idOf(name) ?? [])));
  const known = before?.missing ?? [];
  return [...new Set([...known, ...lost])].filter((site) => {
    if (lost.includes(site)) return true;
    const values = site === "" ? input.values : overrideInputs[site]?.values;
    // An override without a password, which replaces the one that lost its own, has the rule's.
    if (site !== "" && values !== undefined) return keepsPassword(values);
    if (isWhole) return values !== undefined && keepsPassword(values);
    return values === undefined || !isGiven(values);
  });
}
