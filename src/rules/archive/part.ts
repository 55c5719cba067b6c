import type { Grant } from "../../access/grant.ts";
import type { ArchiveEntry, GivenEntries, ImportContext, LedgerPart } from "../../archive/part.ts";
import type { RecordResult } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { rejectViolations, type Violation } from "../../messages/error.ts";
import { importRecords, importRules, saveEntries, saveRows } from "../../records/import.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { LONGEST_OF_ARCHIVE, mapInTicks } from "../../ticks.ts";
import { type RuleInput, withRuleInput } from "../input.ts";
import { SITE_RULES } from "../kind.ts";
import type { Rule, RuleIndex } from "../rule.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import { changedMembers, decideSave, type SaveRules } from "../save.ts";
import { ruleSaver } from "../saver.ts";
import { entryToInput, readEntry, replacedPasswords, ruleToEntry } from "./entry.ts";
import { readRow } from "./row.ts";
import { withStoredPasswords } from "./stored-password.ts";

export interface RulePartDeps {
  /**
   * Rules with these paths, or all that a caller may read, sorted by path.
   *
   * @throws NOT_FOUND; PERMISSION_DENIED.
   */
  readonly list: (grant: Grant, paths: readonly string[]) => Promise<readonly Rule[]>;
  readonly etagOf: SaveRules["etagOf"];
  readonly onSites: Pick<RulesOnSites, "effectsOf">;
  /** Source that declares a rule; undefined: clients may change it. */
  readonly managedBy: (path: string) => string | undefined;
  /** Names of the sites during an import, with those that it creates. */
  readonly siteNames: (context?: ImportContext) => SiteNames;
}

/** Folder rules in archives, with sites by name and overrides. */
export function createRulePart(deps: RulePartDeps): LedgerPart<Draft> {
  return {
    kind: "ledger",
    name: "rules",
    server: { member: "metas", recognizes: (row) => "p_sub" in row && "path" in row },
    exportScope: "rules:read",
    revealScope: "rules:reveal",
    importScopes: ["rules:write"],
    refusesLimits: true,
    most: MAX_RECORDS,
    export: async ({ grant, names, withSecrets, signal }) => {
      const sites = deps.siteNames();
      const rules = await deps.list(grant, names);
      return {
        entries: await mapInTicks(
          rules,
          (rule) => ruleToEntry(rule, { sites, isShown: withSecrets }),
          signal,
          LONGEST_OF_ARCHIVE,
        ),
      };
    },
    decide: (draft, given, context) => {
      const sites = deps.siteNames(context);
      const { nameOf } = sites;
      const rules: SaveRules = {
        ...importRules(SITE_RULES, context, { ...deps, sites }),
        isWhole: true,
      };
      const { reveals } = rules;
      return importRecords(SITE_RULES, draft, {
        sites,
        effectsOf: deps.onSites.effectsOf,
        save: (index) => saveGiven(draft, given, { index, rules, context }),
        isGuess: ({ outcome }) => !reveals && outcome === "changed",
        replacedSecrets: (before, after, differs) =>
          replacedPasswords({ before, after, differs }, { nameOf, reveals }),
      });
    },
  };
}

interface Saving {
  readonly index: RuleIndex;
  readonly rules: SaveRules;
  readonly context: ImportContext;
}

async function saveGiven(
  draft: Draft,
  given: GivenEntries,
  saving: Saving,
): Promise<readonly RecordResult[]> {
  const { index, rules, context } = saving;
  const { sites: names } = rules;
  const { declared, sites, siteNames: renamed } = context.choices;
  const saver = ruleSaver(draft, rules);
  const { nameOf } = names;
  const keeping = {
    choices: context.choices,
    withStored: (before: Rule, input: RuleInput): RuleInput =>
      withStoredPasswords(before, input, { nameOf, reveals: rules.reveals }),
  };
  if (given.entries === undefined) {
    if (typeof sites === "object") for (const site of sites) names.named(site);
    const isNew = (path: string): boolean => !index.has(path);
    const rows = given.rows.map((row) => readRow(row, { sites, isNew }));
    return saveRows(SITE_RULES, saver, rows, index, { ...keeping, names });
  }
  if (declared !== undefined) return saveDeclared(draft, given.entries, saving);
  return saveEntries(SITE_RULES, saver, given.entries, index, {
    ...keeping,
    read: (entry, before) => entryToInput(entry, before, { names, renamed }),
    isSame: (input) => isSameManaged(input, index, rules),
    signal: context.signal,
  });
}

/**
 * Saves the rules that a file declares: all together or none.
 *
 * @throws INVALID_ARGUMENT with every violation; its fields are those of the entries.
 */
async function saveDeclared(
  draft: Draft,
  entries: readonly ArchiveEntry[],
  { index, rules, context }: Saving,
): Promise<readonly RecordResult[]> {
  const violations: Violation[] = [];
  const unchanged = new Set<string>();
  const inputs = entries.map((entry, at): RuleInput => {
    const read = readEntry(entry, index.get(entry.name), {
      names: rules.sites,
      renamed: context.choices.siteNames,
    });
    for (const { path, problem } of read.problems)
      violations.push({ field: [`rules[${at}]`, ...path].join("."), description: problem });
    for (const description of read.hints)
      violations.push({ field: `rules[${at}].sites`, description });
    if (isSameManaged(read.input, index, rules)) unchanged.add(read.input.path);
    return read.input;
  });
  rejectViolations(violations);
  const managedBy = (path: string) => (unchanged.has(path) ? undefined : rules.managedBy(path));
  const saved = await decideSave(draft, inputs, index, { ...rules, managedBy });
  const { noted } = ruleSaver(draft, rules);
  return saved.map((result, at) => noted(result, inputs[at] as RuleInput));
}

/** Reports whether a rule that a file declares has all values of an input: nothing is to be saved. */
function isSameManaged(input: RuleInput, index: RuleIndex, rules: SaveRules): boolean {
  const before = index.get(input.path);
  if (before === undefined || rules.managedBy(input.path) === undefined) return false;
  const { rule, violations, given } = withRuleInput(before, input, { ...rules, field: "" });
  return (
    violations.length === 0 &&
    (rules.reveals || given.length === 0) &&
    changedMembers(before, rule, { sites: rules.sites }).length === 0
  );
}
