import type { Ledger } from "../../ledger/ledger.ts";
import { message, type Text } from "../../messages/message.ts";
import type { EffectsOnRecords } from "../../sites/record-effect.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import { siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { MountChanges } from "../changes.ts";
import { MOUNTS } from "../kind.ts";
import { type Mount, withoutSite } from "../mount.ts";
import type { MountView } from "../mount-view.ts";
import { resultAs } from "../save.ts";

export interface LeaveDeps {
  readonly ledger: Pick<Ledger, "change">;
  readonly view: Pick<MountView, "all">;
  readonly sites: Pick<SiteRegistry, "names">;
}

/** Removes a deleted site from the mounts that name it. */
export function leaveSite(
  changes: MountChanges,
  { ledger, view, sites }: LeaveDeps,
): EffectsOnRecords["leave"] {
  return async (site, origin, { dryRun }) => {
    const named = [...view.all().values()].filter((mount) => namesSite(mount, site.id));
    for (const { name } of named) changes.refuseManaged(name);
    if (named.length === 0) return [];
    const { result } = await ledger.change(
      { ...origin, reason: `the site ${site.name} was removed` },
      (draft) =>
        named.flatMap(({ name }) => {
          const mount = draft.get(MOUNTS, name);
          if (mount === undefined || !namesSite(mount, site.id)) return [];
          const left = withoutSite(mount, site.id);
          const note = leftNote(left, sites.names());
          draft.put(MOUNTS, left);
          return [{ ...resultAs(name, "changed", note), effects: [] }];
        }),
      { dryRun },
    );
    return result;
  };
}

/** Note that names the remaining sites of a mount that has left a site; empty: all sites. */
function leftNote(mount: Mount, names: SiteNames): Text {
  const sites = siteNamesOf(mount, names);
  if (sites === "all") return "";
  if (sites.length === 0) return message("MOUNT_ON_NO_SITE");
  return message("STAYS_ON_SITES", { sites: sites.join(", ") });
}

/** Reports whether a mount names a site: a mount of all sites does only with values for it. */
function namesSite({ siteIds, overrides }: Mount, siteId: string): boolean {
  return (siteIds !== "all" && siteIds.includes(siteId)) || Object.hasOwn(overrides, siteId);
}
