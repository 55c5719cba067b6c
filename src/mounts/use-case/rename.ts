import { Code } from "@connectrpc/connect";
import { outsideLimits } from "../../access/grant.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import { invalid, ServiceError } from "../../messages/error.ts";
import { problemAt } from "../../messages/message.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { MountChanges } from "../changes.ts";
import { nameProblem } from "../input.ts";
import { MOUNTS, SITE_MOUNTS } from "../kind.ts";
import type { Mount } from "../mount.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";
import type { MountRegistry } from "../site/registry.ts";
import type { MountSync } from "../site/sync.ts";

export interface RenameDeps {
  readonly ledger: Pick<Ledger, "change">;
  readonly view: Pick<MountView, "all">;
  readonly sites: Pick<SiteRegistry, "sites">;
  readonly registry: Pick<MountRegistry, "records">;
  readonly sync: Pick<MountSync, "request">;
}

export function renameMount(changes: MountChanges, deps: RenameDeps): MountService["rename"] {
  return async (name, newName, { grant, origin }) => {
    const problem = nameProblem(newName);
    if (problem !== undefined)
      throw invalid([{ field: "new_name", description: problemAt("new_name", problem) }]);
    await deps.ledger.change(origin, (draft) => {
      const mount = changes.require(grant, draft.get(MOUNTS, name), name);
      changes.refuseManaged(name);
      if (newName === name) return;
      const other = draft.get(MOUNTS, newName);
      // As a save with the name of a mount outside of the limits: its name is not confirmed.
      if (other !== undefined && !SITE_MOUNTS.isAllowed(grant, other)) throw outsideLimits(grant);
      changes.refuseManaged(newName);
      if (other !== undefined)
        throw new ServiceError(Code.AlreadyExists, SITE_MOUNTS.texts.exists(newName));
      draft.delete(MOUNTS, name);
      draft.put(MOUNTS, { ...mount, name: newName });
    });
    const renamed = changes.require(grant, deps.view.all().get(newName), newName);
    if (newName !== name) await renameStates(name, renamed, deps);
    return renamed;
  };
}

/** The sites' rows stay unchanged: only their stored states get the new name. */
async function renameStates(
  name: string,
  { name: newName, revision }: Mount,
  { sites, registry, sync }: RenameDeps,
): Promise<void> {
  for (const site of sites.sites()) {
    const state = registry.records(site.id).get(name);
    if (state === undefined) continue;
    await sync.request(site.id, {
      forced: [],
      states: { [newName]: { ...state, applied: revision, tried: revision } },
      forget: [name],
    });
  }
}
