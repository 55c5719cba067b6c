import { Code } from "@connectrpc/connect";
import { outsideLimits } from "../../access/grant.ts";
import { resultAs } from "../../history/record-result.ts";
import { failedPrecondition, invalid, ServiceError } from "../../messages/error.ts";
import { message, problemAt } from "../../messages/message.ts";
import { checkExpected } from "../../records/save-check.ts";
import { otherRecord } from "../../records/text.ts";
import { findClash } from "../../sites/path-index.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import { cleanPath, pathProblem } from "../../sites/site-path.ts";
import type { RuleChanges } from "../changes.ts";
import { RULES, SITE_RULES } from "../kind.ts";
import type { Rule } from "../rule.ts";
import type { RuleService } from "../rule-service.ts";

/** Gives a rule another path, with its values, its passwords and its sites. */
export function moveRule(
  changes: RuleChanges,
  sites: Pick<SiteRegistry, "names">,
): RuleService["move"] {
  return async (path, newPath, caller, { expectedEtag: expected, ...options } = {}) => {
    const { grant } = caller;
    const problem = pathProblem(newPath);
    if (problem !== undefined)
      throw invalid([{ field: "new_path", description: problemAt("new_path", problem) }]);
    const target = cleanPath(newPath);
    return changes.commit(caller, options, (draft, rules) => {
      const rule = changes.require(grant, draft.get(RULES, path), path);
      checkExpected(SITE_RULES, rule, path, { etagOf: changes.etagOf, expected });
      changes.refuseManaged(path);
      if (target === path) return [resultAs(path, "unchanged", "")];
      const moved: Rule = { ...rule, path: target };
      // Before a rule outside of the limits is confirmed.
      if (!SITE_RULES.isAllowed(grant, moved)) throw outsideLimits(grant);
      changes.refuseManaged(target);
      if (rules.has(target))
        throw new ServiceError(Code.AlreadyExists, SITE_RULES.texts.exists(target));
      rules.delete(path);
      const clash = findClash(target, moved, rules, sites.names().ids);
      if (clash !== undefined) {
        const { other } = clash;
        const mayRead = SITE_RULES.isAllowed(grant, other);
        const whose = otherRecord(SITE_RULES.texts, other.path, mayRead);
        throw failedPrecondition(
          message("PATH_OF_ANOTHER", { field: "new_path", whose, where: "" }),
        );
      }
      draft.delete(RULES, path);
      draft.put(RULES, moved);
      return [resultAs(path, "deleted", ""), resultAs(target, "created", "")];
    });
  };
}
