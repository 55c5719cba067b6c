// Order of folder rules and mounts: a folder must not be open before its rule is there.
import type { Site } from "../../sites/site.ts";
import type { WantedRule } from "../rule.ts";
import { restricts } from "./effect.ts";
import { type Hindrance, NEW_RULE, type RuleRegistry } from "./state.ts";
import type { RuleSync } from "./sync.ts";

/** Folder rules that a site gets before mounts at their paths. */
export interface RulesBeforeMounts {
  /**
   * Brings the rules to a site that lacks some.
   *
   * @returns paths of rules that limit access and that the site does not have yet. A rule that can never
   *   be written there is not among them.
   */
  settle(site: Site): Promise<readonly string[]>;
}

/**
 * Hindrances that end by themselves, when the users of a rule are created, or when the rules of a site
 * are adopted or written for the first time.
 */
const TEMPORARY: ReadonlySet<Hindrance> = new Set(["", "users", "call"]);

export function createRulesBeforeMounts({
  registry,
  sync,
  wantedOf,
}: {
  readonly registry: Pick<RuleRegistry, "site" | "records">;
  readonly sync: Pick<RuleSync, "reconcile">;
  readonly wantedOf: (site: Site) => readonly WantedRule[];
}): RulesBeforeMounts {
  const missing = (site: Site): readonly string[] => {
    if (site.mode !== "follow") return [];
    const states = registry.records(site.id);
    // A site whose rules are not managed yet may have its own rule at the path.
    const own = new Set(registry.site(site.id).extra);
    return wantedOf(site).flatMap(({ name, path, values }) => {
      const { applied, hindrance } = states.get(name) ?? NEW_RULE;
      const isMissing = applied === 0 && TEMPORARY.has(hindrance) && !own.has(path);
      return isMissing && restricts(values) ? [path] : [];
    });
  };
  return {
    settle: async (site) => {
      if (missing(site).length === 0) return [];
      await sync.reconcile(site.id);
      return missing(site);
    },
  };
}
