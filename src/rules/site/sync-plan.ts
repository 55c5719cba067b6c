import { type RecordResult, resultAs } from "../../history/record-result.ts";
import { joinTexts, message } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { Site } from "../../sites/site.ts";
import type { WantedRule } from "../rule.ts";
import { effectsAt } from "./effect.ts";
import { linesOf, type ServerRule, type ServerRules } from "./opening.ts";
import type { RuleRound } from "./round.ts";
import { hideWarning, NO_USERS, valuesOf } from "./row.ts";
import { NEW_RULE, type RuleState } from "./state.ts";

/** Plan of a sync: calls to make, and rules to leave unchanged. */
export function planOfSync(
  round: RuleRound,
  site: Pick<Site, "name">,
  wanted: readonly WantedRule[],
  known: ReadonlyMap<string, RuleState>,
): readonly RecordResult[] {
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  const rules = rulesOfSync(round, wanted, known);
  const assigned = wanted.map((rule): RecordResult => {
    const state = ownValue(round.states, rule.name) ?? known.get(rule.name) ?? NEW_RULE;
    const { differs, error } = state;
    const row = state.absent ? undefined : byId.get(state.id);
    if (isHindered(state)) return { ...resultAs(rule.name, "skipped", error), differs };
    if (row === undefined)
      return {
        ...resultAs(rule.name, "created", error),
        effects: effectsAt(site, rule.path, rules),
      };
    if (differs.length === 0)
      return resultAs(rule.name, "unchanged", joinTexts([error, hideWarning(row)]));
    const paths = new Set([row.path, rule.path]);
    const effects = [...paths].flatMap((path) => effectsAt(site, path, rules));
    const note = joinTexts([error, hideWarning(row)]);
    return { name: rule.name, outcome: "changed", note, differs, effects };
  });
  const gone = Object.entries(round.states).flatMap(([name, state]): RecordResult[] => {
    const row = byId.get(state?.id ?? 0);
    if (names.has(name) || state === undefined || row === undefined) return [];
    return [{ ...resultAs(name, "deleted", ""), effects: effectsAt(site, row.path, rules) }];
  });
  const extra = round.extra.map((row) =>
    resultAs(row.path, "skipped", joinTexts([message("ONLY_AT_SITE"), hideWarning(row)])),
  );
  return [...assigned, ...gone, ...extra];
}

/** Reports whether a sync leaves a rule as it is on the server. */
function isHindered({ hindrance }: Pick<RuleState, "hindrance">): boolean {
  return ["incomplete", "users", "unsupported", "taken"].includes(hindrance);
}

/** Rules of a server before a sync and after it. */
function rulesOfSync(
  { rows, states, users = NO_USERS }: Pick<RuleRound, "rows" | "states" | "users">,
  wanted: readonly WantedRule[],
  known: ReadonlyMap<string, RuleState>,
): ServerRules {
  const before = new Map(rows.map((row) => [row.path, { values: valuesOf(row, users) }]));
  const after = new Map<string, ServerRule>(before);
  const stateOf = (name: string): RuleState =>
    ownValue(states, name) ?? known.get(name) ?? NEW_RULE;
  const written = wanted.filter(({ name }) => !isHindered(stateOf(name)));
  const names = new Set(wanted.map(({ name }) => name));
  const gone = Object.keys(states).filter((name) => !names.has(name));
  const replaced = new Set(
    [...gone, ...written.map(({ name }) => name)].map((name) => stateOf(name).id),
  );
  for (const row of rows) if (replaced.has(row.id)) after.delete(row.path);
  for (const rule of written) after.set(rule.path, rule);
  return {
    before: (folder) => before.get(folder),
    after: (folder) => after.get(folder),
    lines: linesOf,
  };
}
