import { notFound } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Site } from "./site.ts";

/**
 * Names of all sites at one time. Every name of a site in a request, a filter or a file is resolved
 * here: an unknown name is refused, with the nearest name.
 */
export interface SiteNames {
  /** Names of all sites, in order. */
  readonly names: readonly string[];
  /** Ids of all sites, in the order of the names. */
  readonly ids: readonly string[];
  /** @throws NOT_FOUND. */
  named(name: string): Site;
  /** Id of a site; undefined: unknown. */
  idOf(name: string): string | undefined;
  /** Name of a site; empty: the site was removed. */
  nameOf(id: string): string;
  /** Violation of an unknown name, with the nearest name; undefined: the site exists. */
  problemOf(name: string): Message | undefined;
}

/** Words for a choice of sites, which no site can have as its name. */
const WORDS: readonly string[] = ["all", "none"];

/** Reports whether a name stands for a choice of sites; upper and lower case are equal. */
export function isChoiceOfSites(name: string): boolean {
  return WORDS.includes(name.toLowerCase());
}

/** Length to which an unknown name is shown. */
const SHOWN = 64;

export function createSiteNames(sites: readonly Site[]): SiteNames {
  const byName = new Map(sites.map((site) => [site.name, site]));
  const byId = new Map(sites.map((site) => [site.id, site]));
  const parameters = (name: string) => ({
    name: `"${name.slice(0, SHOWN)}"`,
    hint: didYouMean(name, byName.keys()),
  });
  return {
    names: [...byName.keys()],
    ids: [...byId.keys()],
    named: (name) => {
      const site = byName.get(name);
      if (site === undefined) throw notFound(message("SITE_NOT_FOUND", parameters(name)));
      return site;
    },
    idOf: (name) => byName.get(name)?.id,
    nameOf: (id) => byId.get(id)?.name ?? "",
    problemOf: (name) => {
      if (byName.has(name)) return undefined;
      return WORDS.includes(name)
        ? message("SITE_CHOICE_ALONE", { name })
        : message("SITE_UNKNOWN", parameters(name));
    },
  };
}
