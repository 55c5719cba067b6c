import type { Effect } from "../history/effect.ts";
import type { Draft } from "../ledger/draft.ts";
import { draftRules, RULES } from "./kind.ts";
import type { RuleIndex } from "./rule.ts";
import type { RulesOnSites } from "./rules-on-sites.ts";

/** Result of a change for one rule. */
interface Changed {
  /** Path of the rule. */
  readonly name: string;
  readonly differs: readonly string[];
}

/** Adds the effects of a change on servers to its results. */
export function withEffects<R extends Changed>(
  { effectsOf }: Pick<RulesOnSites, "effectsOf">,
  decide: (draft: Draft, rules: RuleIndex) => readonly R[] | Promise<readonly R[]>,
): (draft: Draft) => Promise<readonly (R & { readonly effects: readonly Effect[] })[]> {
  return async (draft) => {
    const rules = draftRules(draft);
    const before = new Map(rules);
    const results = await decide(draft, rules);
    return results.map((result) => ({
      ...result,
      effects: effectsOf({
        before: before.get(result.name),
        after: draft.get(RULES, result.name),
        differs: result.differs,
      }),
    }));
  };
}
