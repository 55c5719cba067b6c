import { ROOT } from "../../access/grant.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Caller, ChangeOptions } from "../../records/caller.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { onSite } from "../../sites/on-site.ts";
import type { Site } from "../../sites/site.ts";
import { adoptContent, adoptRound } from "../adopt.ts";
import type { MountChanges } from "../changes.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";
import type { MountRegistry } from "../site/registry.ts";
import type { MountRound } from "../site/round.ts";
import type { MountSync } from "../site/sync.ts";

export interface AdoptDeps {
  readonly ledger: Ledger;
  readonly view: MountView;
  readonly registry: MountRegistry;
  readonly sync: Pick<MountSync, "read" | "request" | "forward">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly fingerprint: Fingerprint;
}

/** Adoption of what sites have: at a request, after a change on their own pages, and of content. */
export function adoptMounts(
  changes: MountChanges,
  { ledger, view, registry, sync, driverOf, fingerprint }: AdoptDeps,
): Pick<MountService, "adopt" | "forward" | "adoptContent"> {
  /** Adopts the differences of a site, as one revision. */
  const adoptAll = (
    round: MountRound,
    site: Site,
    names: readonly string[],
    caller: Caller,
    options: ChangeOptions,
  ) =>
    adoptRound(round, {
      site,
      names,
      ledger,
      registry,
      driverOf,
      wantedOf: view.wantedOf,
      hash: fingerprint,
      origin: caller.origin,
      dryRun: options.dryRun ?? false,
      mounts: view.all(),
      others: changes.running().filter(({ id }) => id !== site.id),
      rules: {
        ...changes.rulesOf(caller, options),
        allowShared: true,
        isAdopted: true,
        carries: true,
      },
    });
  return {
    adopt: async (name, names, caller, options = {}) => {
      const site = await changes.siteNamed(name);
      const round = await onSite(sync.read(site.id), caller.signal);
      await caller.renew?.();
      const { saved, states } = await adoptAll(round, site, names, caller, options);
      if (options.dryRun !== true) await onSite(sync.request(site.id, { forced: [], states }));
      return saved;
    },
    forward: async (site, send, origin) => {
      await sync.forward(site.id, send, async (round) => {
        // Before the first adoption, Mooring does not manage the site's mounts.
        if (!registry.site(site.id).contacted) return {};
        return (await adoptAll(round, site, [], { grant: ROOT, origin }, {})).states;
      });
    },
    adoptContent: async (site, content, origin) => {
      await ledger.change(origin, (draft) => {
        for (const [name, items] of Object.entries(content))
          if (changes.declaredBy(name) === undefined)
            adoptContent(draft, { name, siteId: site.id, items });
      });
    },
  };
}
