import { Code } from "@connectrpc/connect";
import { type Grant, outsideLimits } from "../../access/grant.ts";
import {
  type ArchiveEntry,
  entryResult,
  type GivenEntries,
  type ImportContext,
  keepsSecrets,
  type LedgerPart,
} from "../../archive/part.ts";
import { type RecordResult, resultAs } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { entryProblem } from "../../messages/entry-problem.ts";
import { invalid, rejectViolations, ServiceError, type Violation } from "../../messages/error.ts";
import { joinTexts, message, type Text } from "../../messages/message.ts";
import { withEffects } from "../../records/effect.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import { PathIndex } from "../../sites/path-index.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { createTicks, mapInTicks } from "../../ticks.ts";
import { type RuleInput, withRuleInput } from "../input.ts";
import { RULES, SITE_RULES } from "../kind.ts";
import { passwordFields, type Rule, type RuleIndex } from "../rule.ts";
import type { RulesOnSites } from "../rules-on-sites.ts";
import { changedMembers, decideSave, type SaveRules } from "../save.ts";
import { readEntry, replacedPasswords, ruleToEntry } from "./entry.ts";
import { readRow } from "./row.ts";
import { withStoredPasswords } from "./stored-password.ts";

/** Maximum number of unknown sites in a note. */
const MAX_HINTS = 5;

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
    export: async ({ grant, names, withSecrets }) => {
      const sites = deps.siteNames();
      const rules = await deps.list(grant, names);
      return { entries: rules.map((rule) => ruleToEntry(rule, { sites, isShown: withSecrets })) };
    },
    decide: async (draft, given, context) => {
      const names = deps.siteNames(context);
      const { grant } = context.caller;
      const { declared } = context.choices;
      const rules: SaveRules = {
        etagOf: deps.etagOf,
        sites: names,
        managedBy: declared?.file === undefined ? deps.managedBy : () => undefined,
        allows: (path) => grant.allowsPath("rule", path),
        refuse: () => {
          throw outsideLimits(grant);
        },
        reveals: grant.has("rules:reveal"),
        isAdopted: false,
        // What a file declares follows the rules of a form; other sources are taken as they are.
        carries: declared === undefined,
        isWhole: true,
      };
      const stored = new Map(
        Array.from(draft.keys(RULES), (path) => [path, draft.get(RULES, path)]),
      );
      const results = await withEffects(SITE_RULES, deps.onSites.effectsOf, (_draft, index) =>
        save(draft, given, { index, rules, context }),
      )(draft);
      return mapInTicks(results, ({ name, outcome, note, differs, effects, ...rest }) => {
        const { leftOut = [], kept = [] } = rest;
        const rule = outcome === "skipped" ? undefined : draft.get(RULES, name);
        const before = stored.get(name);
        return entryResult(name, outcome === "deleted" ? "changed" : outcome, {
          note,
          differs,
          leftOut,
          kept,
          effects,
          isGuess: !rules.reveals && outcome === "changed" && rule !== undefined,
          replacedSecrets:
            before === undefined || rule === undefined
              ? []
              : replacedPasswords(
                  { before, after: rule, differs },
                  { nameOf: names.nameOf, reveals: rules.reveals },
                ),
          missing: rule === undefined ? [] : passwordFields(rule.missing, names),
        });
      });
    },
  };
}

interface Saving {
  readonly index: RuleIndex;
  readonly rules: SaveRules;
  readonly context: ImportContext;
}

/** Input that keeps the stored passwords of a rule, unless the caller has chosen to replace them. */
function keeping(input: RuleInput, { index, rules, context }: Saving): RuleInput {
  const before = index.get(input.path);
  if (before === undefined || !keepsSecrets(context.choices)) return input;
  const { sites, reveals } = rules;
  return withStoredPasswords(before, input, { nameOf: sites.nameOf, reveals });
}

function save(draft: Draft, given: GivenEntries, saving: Saving): Promise<readonly RecordResult[]> {
  if (given.entries === undefined) return saveRows(draft, given.rows, saving);
  const { declared } = saving.context.choices;
  return declared === undefined
    ? saveEntries(draft, given.entries, saving)
    : saveDeclared(draft, given.entries, saving);
}

/** Saves rows of a server. A row that is rejected is skipped, with the reason. */
async function saveRows(
  draft: Draft,
  rows: readonly unknown[],
  { index, rules, context }: Saving,
): Promise<readonly RecordResult[]> {
  const { sites } = context.choices;
  if (typeof sites === "object") for (const site of sites) rules.sites.named(site);
  const read = rows.map((row) => readRow(row, { sites, isNew: (path) => !index.has(path) }));
  const inputs = read.flatMap((row) =>
    "input" in row ? [keeping(row.input, { index, rules, context })] : [],
  );
  const isUnplaced = ({ path, sites: chosen }: RuleInput): boolean =>
    chosen === undefined && !index.has(path);
  if (rules.sites.names.length > 1 && inputs.some(isUnplaced))
    throw invalid([{ field: "sites", description: message("SITES_REQUIRED", { field: "sites" }) }]);
  const skipped = read.flatMap((row) =>
    "reason" in row ? [resultAs(row.path, "skipped", row.reason)] : [],
  );
  return [...(await saveEach(draft, inputs, index, rules)), ...skipped];
}

/** Saves the entries of an archive. An entry that is rejected is skipped, with the reason. */
async function saveEntries(
  draft: Draft,
  entries: readonly ArchiveEntry[],
  { index, rules, context }: Saving,
): Promise<readonly RecordResult[]> {
  const ticks = createTicks(context.signal);
  const inputs: RuleInput[] = [];
  const notes = new Map<string, Text>();
  const fixed: RecordResult[] = [];
  for (const entry of entries) {
    if (ticks.isDue()) await ticks.next();
    const read = readEntry(entry, index.get(entry.name), {
      names: rules.sites,
      renamed: context.choices.siteNames,
    });
    const { hints } = read;
    const input = keeping(read.input, { index, rules, context });
    const [problem] = read.problems;
    const reason =
      problem !== undefined
        ? message("NAMED_PROBLEM", { name: problem.path.join("."), problem: problem.problem })
        : read.isNowhere
          ? hints[0]
          : undefined;
    if (reason !== undefined) fixed.push(resultAs(entry.name, "skipped", reason));
    else if (isSameManaged(input, index, rules))
      fixed.push(resultAs(input.path, "unchanged", "", { kept: input.kept ?? [] }));
    else {
      inputs.push(input);
      notes.set(input.path, joinTexts(hints.slice(0, MAX_HINTS)));
    }
  }
  const saved = await saveAll(draft, inputs, index, rules);
  return [
    ...saved.map((result) => ({
      ...result,
      note: joinTexts([result.note, notes.get(result.name) ?? ""]),
    })),
    ...fixed,
  ];
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
  return saved.map((result, at) => withNotes(result, inputs[at], rules.sites));
}

/** Saves all inputs together, so that rules can exchange their paths; if one is rejected, each by itself. */
async function saveAll(
  draft: Draft,
  inputs: readonly RuleInput[],
  index: RuleIndex,
  rules: SaveRules,
): Promise<readonly RecordResult[]> {
  if (inputs.length === 0) return [];
  try {
    const saved = await decideSave(draft, inputs, new PathIndex(index), rules);
    return saved.map((result, at) => withNotes(result, inputs[at], rules.sites));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === Code.PermissionDenied) throw error;
    return saveEach(draft, inputs, index, rules);
  }
}

/** Saves each input by itself. @throws PERMISSION_DENIED. */
async function saveEach(
  draft: Draft,
  inputs: readonly RuleInput[],
  index: RuleIndex,
  rules: SaveRules,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const results: RecordResult[] = [];
  const paths = new Set<string>();
  for (const input of inputs) {
    if (ticks.isDue()) await ticks.next();
    const { path } = input;
    if (paths.has(path)) {
      const problem = message("RULE_REPEATED", { field: "path", path });
      results.push(resultAs(path, "skipped", problem));
      continue;
    }
    paths.add(path);
    const before = index.get(path);
    try {
      const [result] = await decideSave(draft, [input], index, rules);
      results.push(withNotes(result as RecordResult, input, rules.sites));
    } catch (error) {
      if (before === undefined) index.delete(path);
      else index.set(path, before);
      if (!(error instanceof ServiceError) || error.code === Code.PermissionDenied) throw error;
      results.push(resultAs(path, "skipped", entryProblem(error, "rules[0].")));
    }
  }
  return results;
}

/** Adds notes about values that the source lacks, or that the rule does not keep. */
function withNotes(
  result: RecordResult,
  input: RuleInput | undefined,
  names: SiteNames,
): RecordResult {
  const { lost = [], leftOut = [], kept = [] } = input ?? {};
  const ids = lost.map((site) => (site === "" ? "" : (names.idOf(site) ?? "")));
  const items = passwordFields(ids, names).join(", ");
  const isIncomplete = result.outcome !== "unchanged" && lost.length > 0;
  return {
    ...result,
    leftOut,
    kept,
    note: joinTexts([
      isIncomplete ? message("RULE_PASSWORDS_NOT_IN_DOCUMENT", { items }) : "",
      result.note,
      leftOut.length > 0 ? message("LEFT_OUT", { names: leftOut.join(", ") }) : "",
    ]),
  };
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
