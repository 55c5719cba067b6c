import type { Ledger } from "../../ledger/ledger.ts";
import { message, type Text } from "../../messages/message.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import { siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { RuleChanges } from "../changes.ts";
import { RULES } from "../kind.ts";
import { type Rule, withoutSite } from "../rule.ts";
import type { RuleService } from "../rule-service.ts";
import { resultAs } from "../save.ts";

export interface LeaveDeps {
  readonly ledger: Pick<Ledger, "change">;
  readonly sites: Pick<SiteRegistry, "names">;
}

/** Removes a deleted site from the rules that name it. */
export function leaveSite(
  changes: RuleChanges,
  { ledger, sites }: LeaveDeps,
): RuleService["leave"] {
  return async (site, origin, { dryRun }) => {
    const named = [...changes.all().values()].filter((rule) => namesSite(rule, site.id));
    for (const { path } of named) changes.refuseManaged(path);
    if (named.length === 0) return [];
    const { result } = await ledger.change(
      { ...origin, reason: `the site ${site.name} was removed` },
      (draft) =>
        named.flatMap(({ path }) => {
          const rule = draft.get(RULES, path);
          if (rule === undefined || !namesSite(rule, site.id)) return [];
          const left = withoutSite(rule, site.id);
          draft.put(RULES, left);
          return [{ ...resultAs(path, "changed", leftNote(left, sites.names())), effects: [] }];
        }),
      { dryRun },
    );
    return result;
  };
}

/** Note that names the remaining sites of a rule that has left a site; empty: all sites. */
function leftNote(rule: Rule, names: SiteNames): Text {
  const sites = siteNamesOf(rule, names);
  if (sites === "all") return "";
  if (sites.length === 0) return message("MOUNT_ON_NO_SITE");
  return message("STAYS_ON_SITES", { sites: sites.join(", ") });
}

/** Reports whether a rule names a site: a rule of all sites does only with values for it. */
function namesSite({ siteIds, overrides }: Rule, siteId: string): boolean {
  return (siteIds !== "all" && siteIds.includes(siteId)) || Object.hasOwn(overrides, siteId);
}
