import { message, type Text } from "../messages/message.ts";
import type { SiteIds } from "./site-choice.ts";
import type { SiteNames } from "./site-names.ts";

/** Names of the sites of a record; empty: none. `all`: also those that are created later. */
export type ChosenSites = "all" | readonly string[];

/** Adds the problem of a member; undefined: it has none. */
type Report = (at: string, problem: Text | undefined) => void;

/** Maximum number of sites that a record names. */
const MAX_SITES = 200;

/**
 * Ids of the sites of a record: the given ones, or those that it has. With several sites, the choice
 * is required for a new record: on the wrong sites, it would serve or open folders there.
 *
 * @param before undefined: a new record.
 */
export function chosenSites(
  before: { readonly siteIds: SiteIds } | undefined,
  given: ChosenSites | undefined,
  sites: SiteNames,
  report: Report,
): SiteIds {
  if (given === "all") return "all";
  if (given === undefined) {
    if (before === undefined && sites.names.length > 1) report("sites", message("SITES_REQUIRED"));
    return before?.siteIds ?? "all";
  }
  const names = [...new Set(given)];
  if (names.length > MAX_SITES) {
    report("sites", message("SITE_NAMES_INVALID", { most: MAX_SITES }));
    return [];
  }
  for (const name of names) report("sites", sites.problemOf(name));
  return names.flatMap((name) => sites.idOf(name) ?? []);
}

/** Overrides by the ids of their sites. */
export function overridesById<O>(
  overrides: Readonly<Record<string, O>> = {},
  sites: SiteNames,
  report: Report,
): Readonly<Record<string, O>> {
  return Object.fromEntries(
    Object.entries(overrides).map(([name, override]) => {
      report(`overrides.${name}`, sites.problemOf(name));
      // The values for an unknown site are checked as well: all problems are reported together.
      return [sites.idOf(name) ?? name, override];
    }),
  );
}

/** Reports whether an input names sites. */
export function namesSites({
  sites,
  overrides,
}: {
  readonly sites?: ChosenSites | undefined;
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
}): boolean {
  return typeof sites === "object" || Object.keys(overrides ?? {}).length > 0;
}
