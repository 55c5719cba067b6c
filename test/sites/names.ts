import { NEW_STATE, type Site } from "../../src/sites/site.ts";
import { createSiteNames, type SiteNames } from "../../src/sites/site-names.ts";

/** Sites with these names, which are their ids too. */
export function siteNames(...names: readonly string[]): SiteNames {
  return createSiteNames(names.map((name) => ({ id: name, name }) as Site));
}

/** A registry of these sites, which never change. */
export function fixedSites(...names: readonly string[]) {
  const sites = names.map((name) => ({ id: name, name }) as Site);
  return {
    sites: () => sites,
    names: () => createSiteNames(sites),
    state: () => NEW_STATE,
    load: async () => undefined,
    onChange: () => () => undefined,
  };
}
