import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../../gen/mooring/v1/site_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { transport } from "./client.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";
import { session } from "./session.ts";

export const siteService = createClient(SiteService, transport);

/** Sites by name, as last received; undefined before. */
export const sites = signal<ReadonlyMap<string, Site> | undefined>(undefined);
export const sitesFailure = signal<Failure | undefined>(undefined);

session.subscribe((now) => {
  if (now === undefined) sites.value = undefined;
});

/** Keeps `sites` up to date until the signal is aborted. */
export async function followSites(signal: AbortSignal): Promise<void> {
  const states = followCalls({ open: watchSites, failure: sitesFailure, signal });
  for await (const known of states)
    sites.value = new Map([...known].sort(([one], [other]) => one.localeCompare(other)));
}

/**
 * All sites by name after each event.
 *
 * @param _position undefined: a stream begins with all sites, and needs no position to continue.
 */
async function* watchSites(_position: undefined, options: StreamOptions) {
  const known = new Map<string, Site>();
  for await (const { sites: changed, removed } of siteService.watchSites({}, options)) {
    for (const site of changed) known.set(site.name, site);
    for (const name of removed) known.delete(name);
    yield known;
  }
}
