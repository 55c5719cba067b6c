import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { Site } from "../../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../../gen/mooring/v1/site_service_pb.js";
import { transport } from "./client.ts";
import { type Failure, failureOf } from "./failure.ts";
import { session } from "./session.ts";
import { pause } from "./wait.ts";

export const siteService = createClient(SiteService, transport);

/** By name, as the service told last; undefined until it has. */
export const sites = signal<ReadonlyMap<string, Site> | undefined>(undefined);
export const sitesFailure = signal<Failure | undefined>(undefined);

/** Between two tries to reach the service, in milliseconds. */
const RETRY = 2_000;

session.subscribe((now) => {
  if (now === undefined) sites.value = undefined;
});

/** Follows the sites until the signal: while somebody looks at them. */
export async function followSites(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      let known: ReadonlyMap<string, Site> = new Map();
      for await (const event of siteService.watchSites({}, { signal })) {
        const next = new Map(known);
        for (const site of event.sites) next.set(site.name, site);
        for (const name of event.removed) next.delete(name);
        known = next;
        sites.value = new Map([...next].sort(([one], [other]) => one.localeCompare(other)));
        sitesFailure.value = undefined;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      sitesFailure.value = failureOf(thrown);
      if (sitesFailure.value.kind === "denied") return;
    }
    await pause(RETRY, signal);
  }
}
