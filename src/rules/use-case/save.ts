import { invalid } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { RuleChanges } from "../changes.ts";
import type { RuleInput } from "../input.ts";
import type { RuleService } from "../rule-service.ts";
import { decideSave } from "../save.ts";
import { MAX_REQUEST } from "./limit.ts";

export function saveRules(changes: RuleChanges): RuleService["save"] {
  return async (inputs, caller, options = {}) => {
    checkCount(inputs);
    if (inputs.some(namesSites)) await changes.siteNames();
    return changes.commit(caller, options, (draft, rules) =>
      decideSave(draft, inputs, rules, changes.rulesOf(caller)),
    );
  };
}

function checkCount({ length }: readonly RuleInput[]): void {
  const field = "rules";
  if (length === 0)
    throw invalid([{ field, description: message("GIVE_AT_LEAST_ONE", { field }) }]);
  if (length > MAX_REQUEST)
    throw invalid([
      { field, description: message("TOO_MANY_ENTRIES", { field, most: MAX_REQUEST }) },
    ]);
}

/** Reports whether an input names sites. */
function namesSites({ sites, overrides = {} }: RuleInput): boolean {
  return typeof sites === "object" || Object.keys(overrides).length > 0;
}
