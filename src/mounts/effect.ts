import type { Effect } from "../history/effect.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite, pathOn } from "../sites/site-choice.ts";
import { draftMounts, MOUNTS } from "./kind.ts";
import type { Mount, MountIndex } from "./mount.ts";
import type { Result } from "./save.ts";
import type { MountState, SiteMounts } from "./site/state.ts";

/** Change of one mount. */
export interface MountChange {
  /** Undefined: it did not exist. */
  readonly before: Mount | undefined;
  /** Undefined: it was deleted. */
  readonly after: Mount | undefined;
  /** Names as in `changedNames`. Values are not compared: that would reveal secrets. */
  readonly differs: readonly string[];
}

/** Members of a mount whose change alone does not interrupt it. */
const QUIET = new Set(["sites", "content", "disabled"]);

/** Reports whether the mounts of a site are written to its server. */
export function isRunning(
  { mode, paused }: { readonly mode: string; readonly paused: boolean },
  { contacted }: Pick<SiteMounts, "contacted">,
): boolean {
  return mode === "follow" && !paused && contacted;
}

/**
 * Mounts that a change removes, disables or mounts again on servers.
 *
 * @param sites those whose mounts are written to their servers.
 */
export function effectsOf(
  { before, after, differs }: MountChange,
  sites: readonly Pick<Site, "id" | "name">[],
): readonly Effect[] {
  if (before === undefined) return [];
  return sites.flatMap((site): Effect[] => {
    if (!isOnSite(before, site.id)) return [];
    const effect = { site: site.name, kind: "mount", path: pathOn(before, site.id) } as const;
    if (after === undefined || !isOnSite(after, site.id)) return [{ action: "remove", ...effect }];
    if (after.disabled) return before.disabled ? [] : [{ action: "disable", ...effect }];
    const isChanged = differs.some((name) => concerns(name, after, site));
    return isChanged && !before.disabled ? [{ action: "remount", ...effect }] : [];
  });
}

/** Decides a change of mounts on a draft. @param mounts all mounts of the draft; it may change them. */
export type DecideMounts<R> = (
  draft: Draft,
  mounts: MountIndex,
) => readonly R[] | Promise<readonly R[]>;

/** Result of a change with its effects on servers. */
export type WithEffects<R> = R & { readonly effects: readonly Effect[] };

/** Adds the effects of a change on servers to its results. @param sites as in `effectsOf`. */
export function decideWithEffects<R extends Pick<Result, "name" | "differs">>(
  sites: readonly Pick<Site, "id" | "name">[],
  decide: DecideMounts<R>,
): (draft: Draft) => Promise<readonly WithEffects<R>[]> {
  return async (draft) => {
    const mounts = draftMounts(draft);
    const before = new Map(mounts);
    const results = await decide(draft, mounts);
    return results.map((result) => {
      const { name, differs } = result;
      const change = { before: before.get(name), after: draft.get(MOUNTS, name), differs };
      return { ...result, effects: effectsOf(change, sites) };
    });
  };
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
