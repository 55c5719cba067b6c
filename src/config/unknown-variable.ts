import { definitionList } from "./definition.ts";
import { nearestName } from "./nearest.ts";
import { quote } from "./quote.ts";
import { isServiceLink } from "./service-link.ts";
import type { Environment } from "./source.ts";

/**
 * One problem for each variable that begins with `MOORING_` and is nobody's: neither defined here,
 * nor among `others` (those of other commands), nor set by a cluster. Its value is not shown: it
 * may be a secret under a misspelt name.
 */
export function unknownVariables(env: Environment, others: readonly string[]): string[] {
  const known = [...definitionList.map(({ variable }): string => variable), ...others];
  return Object.entries(env)
    .filter(([name]) => name.startsWith("MOORING_") && !known.includes(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ""))
    .map(([name]) => {
      const nearest = nearestName(name, known);
      return `unknown variable ${quote(name)}: did you mean ${nearest}? --help lists all`;
    });
}
