import type { Draft } from "../ledger/draft.ts";
import { type Saver, withSourceNotes } from "../records/save-each.ts";
import type { RuleInput } from "./input.ts";
import { SITE_RULES } from "./kind.ts";
import { passwordFields, type Rule } from "./rule.ts";
import { decideSave, type SaveRules } from "./save.ts";

/** Saves rules of a source, such as an archive or a site, on a draft. */
export function ruleSaver(draft: Draft, options: SaveRules): Saver<Rule, RuleInput> {
  const { sites } = options;
  return {
    keyOf: ({ path }) => path,
    save: (inputs, rules) => decideSave(draft, inputs, rules, options),
    noted: (result, { lost = [], leftOut = [], kept = [] }) => {
      const ids = lost.map((site) => (site === "" ? "" : (sites.idOf(site) ?? "")));
      const fields = passwordFields(ids, sites);
      return withSourceNotes(SITE_RULES, result, { lost: fields, leftOut, kept });
    },
  };
}
