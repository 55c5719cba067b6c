import { Code } from "@connectrpc/connect";
import { ServiceError } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { withInput } from "../input.ts";
import { followsTooEarly, MAX_SITES, NEW_SITE, NEW_STATE, type Site } from "../site.ts";
import type { SiteService } from "../site-service.ts";
import { noted, type SiteChangeDeps, taken, tooEarly } from "./change.ts";

export interface CreateDeps extends SiteChangeDeps {
  /** Reads a site now. @throws as SiteService.check. */
  readonly read: (site: Site, signal?: AbortSignal) => Promise<unknown>;
  /** A new id of a site. */
  readonly newId: () => string;
}

/** Creates a site, and removes it again if it cannot be read. */
export function createSite(deps: CreateDeps): SiteService["create"] {
  const { registry } = deps;
  return async (input, origin, signal) => {
    if (registry.sites().length >= MAX_SITES)
      throw new ServiceError(
        Code.ResourceExhausted,
        message("TOO_MANY_SITES", { most: MAX_SITES }),
      );
    const site = withInput(
      { ...NEW_SITE, id: deps.newId(), created: deps.now() },
      input,
      deps.keys.known(NEW_STATE),
    );
    if (followsTooEarly(undefined, site, NEW_STATE)) throw tooEarly(site);
    const { url, mode } = site;
    const isStored = await registry.insert(site, [noted(deps, origin, site, { url, mode })]);
    if (!isStored) throw taken(deps, site);
    try {
      await deps.read(site, signal);
    } catch (error) {
      const undone = noted(deps, origin, site, { undone: "the site was not reached" });
      await registry.delete(site.id, [undone]);
      throw error;
    }
    return deps.viewOf(site);
  };
}
