import type { RuleChanges } from "../changes.ts";
import { RULES } from "../kind.ts";
import type { RuleService } from "../rule-service.ts";
import { resultAs } from "../save.ts";
import { requirePaths } from "./limit.ts";

export function deleteRules(changes: RuleChanges): RuleService["delete"] {
  return async (asked, caller, options = {}) => {
    requirePaths(asked);
    const paths = [...new Set(asked)];
    return changes.commit(caller, options, (draft) =>
      paths.map((path) => {
        changes.require(caller.grant, draft.get(RULES, path), path);
        changes.refuseManaged(path);
        draft.delete(RULES, path);
        return resultAs(path, "deleted", "");
      }),
    );
  };
}
