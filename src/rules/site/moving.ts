import { posix } from "node:path";
import { memoize } from "../../memoize.ts";
import type { WantedRule } from "../rule.ts";
import { restricts } from "./effect.ts";
import { linesOf, opensElsewhere } from "./opening.ts";

/** Reports whether the folder rules of a site limit the contents of a folder less at another path. */
export type OpensWhenMoved = (from: string, to: string) => boolean;

/**
 * Rules stay at their paths when a mount moves.
 *
 * @param rules all rules of a site.
 */
export function createMoving(rules: readonly WantedRule[]): OpensWhenMoved {
  const byPath = new Map(rules.map((rule) => [rule.path, rule]));
  const below = restrictingBelow(rules);
  const lines = memoize(linesOf);
  return (from, to) =>
    [from, ...(below.get(from) ?? [])].some((folder) =>
      opensElsewhere(folder, posix.join(to, posix.relative(from, folder)), {
        ruleAt: (path) => byPath.get(path),
        lines,
      }),
    );
}

/** Paths of rules that limit access, by each folder above them. */
function restrictingBelow(rules: readonly WantedRule[]): ReadonlyMap<string, readonly string[]> {
  const below = new Map<string, string[]>();
  for (const { path, values, isIncomplete } of rules) {
    if (!isIncomplete && !restricts(values)) continue;
    for (let folder = path; folder !== "/"; ) {
      folder = posix.dirname(folder);
      const known = below.get(folder);
      if (known === undefined) below.set(folder, [path]);
      else known.push(path);
    }
  }
  return below;
}
