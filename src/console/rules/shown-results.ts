import type { RuleResult } from "../../../gen/mooring/v1/rule_pb.js";
import type { ShownResult } from "../records/results.tsx";

/** Results of rules for display, by their paths. */
export function shownResults(results: readonly RuleResult[]): readonly ShownResult[] {
  return results.map(({ path, ...rest }) => ({ ...rest, name: path }));
}
