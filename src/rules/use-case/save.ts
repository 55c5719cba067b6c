import { checkInputs } from "../../records/limit.ts";
import { namesSites } from "../../sites/site-choice-input.ts";
import type { RuleChanges } from "../changes.ts";
import type { RuleService } from "../rule-service.ts";
import { decideSave } from "../save.ts";

export function saveRules(changes: RuleChanges): RuleService["save"] {
  return async (inputs, caller, options = {}) => {
    checkInputs("rules", inputs);
    if (inputs.some(namesSites)) await changes.siteNames();
    return changes.commit(caller, options, (draft, rules) =>
      decideSave(draft, inputs, rules, changes.rulesOf(caller)),
    );
  };
}
