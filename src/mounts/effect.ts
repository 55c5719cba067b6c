import type { Effect } from "../history/effect.ts";
import type { RecordChange } from "../records/effect.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite, pathOn } from "../sites/site-choice.ts";
import type { Mount } from "./mount.ts";
import type { MountState } from "./site/state.ts";

/** Site whose mounts are written to its server. */
export interface RunningSite extends Pick<Site, "id" | "name"> {
  /** Reports whether its folder rules limit the contents of a mount less at another path. */
  readonly opensWhenMoved: (from: string, to: string) => boolean;
}

/** Members of a mount whose change alone does not interrupt it. */
const QUIET = new Set(["sites", "content", "disabled"]);

/**
 * Mounts that a change removes, disables or mounts again on servers, or moves to a path where more
 * people can read, see or write them.
 *
 * @param sites those whose mounts are written to their servers.
 */
export function effectsOf(
  { before, after, differs }: Omit<RecordChange<Mount>, "all">,
  sites: readonly RunningSite[],
): readonly Effect[] {
  if (before === undefined) return [];
  return sites.flatMap((site): Effect[] => {
    if (!isOnSite(before, site.id)) return [];
    const effect = { site: site.name, kind: "mount", path: pathOn(before, site.id) } as const;
    if (after === undefined || !isOnSite(after, site.id)) return [{ action: "remove", ...effect }];
    const effects: Effect[] = [];
    if (after.disabled) {
      if (!before.disabled) effects.push({ action: "disable", ...effect });
    } else if (!before.disabled && differs.some((name) => concerns(name, after, site)))
      effects.push({ action: "remount", ...effect });
    // Also of a disabled mount: it is enabled later without a word about its path.
    const to = pathOn(after, site.id);
    if (to !== effect.path && site.opensWhenMoved(effect.path, to))
      effects.push({ action: "open", ...effect });
    return effects;
  });
}

/** Reports whether a changed member has an effect on a site, which may have an own value. */
function concerns(name: string, mount: Mount, site: Pick<Site, "id" | "name">): boolean {
  if (QUIET.has(name)) return false;
  if (name.startsWith("overrides.")) return name === `overrides.${site.name}`;
  const own = mount.overrides[site.id];
  if (own === undefined) return true;
  if (name === "mount_path") return own.path === "";
  return !Object.hasOwn(own.items, name) && !Object.hasOwn(own.members, name);
}

/**
 * Mounts that are removed, disabled or mounted again when a site begins to follow, from the last
 * read of its server.
 */
export function effectsOfFollowing(
  site: Pick<Site, "id" | "name">,
  mounts: ReadonlyMap<string, Mount>,
  states: ReadonlyMap<string, MountState>,
): readonly { readonly name: string; readonly effects: readonly Effect[] }[] {
  return [...states].flatMap(([name, { id, path, phase, differs }]) => {
    if (id === 0 || phase === "gone") return [];
    const mount = mounts.get(name);
    const isWanted = mount !== undefined && isOnSite(mount, site.id);
    if (isWanted && differs.length === 0) return [];
    const isDisabled = isWanted && mount.disabled && differs.includes("disabled");
    const action = !isWanted ? "remove" : isDisabled ? "disable" : "remount";
    return [{ name, effects: [{ action, site: site.name, kind: "mount", path } as const] }];
  });
}
