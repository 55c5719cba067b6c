import type { HandlerContext } from "@connectrpc/connect";
import { type Grant, grantOf, outsideLimits, shareOf } from "../access/grant.ts";
import { parseDefinition } from "../ledger/commit.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { StoredChange } from "../ledger/store.ts";
import { memoize } from "../memoize.ts";
import { denied } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { SettingItem } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { MOUNTS, mountDefinition, mountKey, pathsOfChange, readMountKey } from "./mount-key.ts";
import { TOKEN_KEY } from "./token.ts";

/** Rights of a caller on single settings, derived from the grant. */
export interface Rights {
  /** Whether the caller is limited to some settings. */
  readonly isLimited: boolean;
  /** Share of the space of all settings that the caller may fill, from 0 to 1. */
  readonly share: number;
  /** Reports whether a value is sent as `********`. */
  isMasked(item: Pick<SettingItem, "key" | "secret">): boolean;
  /** Reports whether the caller may not read the value of a setting: masked, or outside of the limits. */
  hides(item: Pick<SettingItem, "key" | "group" | "secret">): boolean;
  /** Reports whether the values of a change are sent as `********`. */
  isMaskedChange(change: Pick<StoredChange, "key" | "oldHash" | "newHash">): boolean;
  /** Key that is equal for rights to the same settings. */
  readonly kind: string;
  /** Reports whether a current setting, or a mount by its key in the history, is visible. */
  canRead(key: string): boolean;
  /** Whether changes of mounts in the history are visible. */
  readonly canReadMounts: boolean;
  canReadItem(item: Pick<SettingItem, "key" | "group">): boolean;
  /**
   * Reports whether a change in the history is visible: the setting must be permitted before and
   * after.
   */
  canReadChange(change: Pick<StoredChange, "key" | "oldAttributes" | "newAttributes">): boolean;
  /** @throws PERMISSION_DENIED: outside of the caller's limits. */
  refuse(): never;
  /** Requires that all keys are readable. @throws PERMISSION_DENIED. */
  require(keys: Iterable<string>): void;
  /**
   * Requires that a change is permitted: only root writes the permanent token, and a new setting
   * counts as ungrouped, in any group. @throws PERMISSION_DENIED.
   */
  requireWrite(before: SettingItem | undefined, after: SettingItem | undefined): void;
  /** @throws PERMISSION_DENIED naming the scope. */
  requireScope(scope: string): void;
}

export function rightsOf(grant: Grant, snapshot: () => Snapshot): Rights {
  const isLimited = grant.limits.length > 0;
  const groupOf = (key: string): number | undefined => snapshot().get(SETTINGS, key)?.group;
  /** A change without paths was stored by a version that did not record them. */
  const seesPaths = (paths: readonly string[]): boolean =>
    !isLimited || (paths.length > 0 && paths.every(grant.allowsMount));
  const canRead = (key: string): boolean =>
    grant.allows(key, isLimited ? groupOf(key) : undefined) || seesMount(key);
  const seesMount = (key: string): boolean => {
    const name = readMountKey(key)?.name;
    const mount = name === undefined ? undefined : snapshot().of(MOUNTS).get(mountKey(name));
    const change = { key, oldAttributes: null, newAttributes: mountDefinition(mount) };
    return grant.has("mounts:read") && seesPaths(pathsOfChange(change) ?? []);
  };
  const canReadItem = ({ key, group }: Pick<SettingItem, "key" | "group">): boolean =>
    grant.allows(key, group);
  const reveals = grant.has("settings:reveal");
  // A reader of the permanent token has every right.
  const isMasked = ({ key, secret }: Pick<SettingItem, "key" | "secret">): boolean =>
    !grant.isRoot && secret && (!reveals || key === TOKEN_KEY);
  return {
    isLimited,
    share: shareOf(grant),
    kind: grant.limits.join("\n"),
    isMasked,
    hides: (item) => isMasked(item) || (item.secret && !canReadItem(item)),
    // Secrets of mounts are never in the history.
    isMaskedChange: ({ key, oldHash, newHash }) =>
      isMasked({ key, secret: oldHash !== null || newHash !== null }),
    canRead,
    canReadItem,
    canReadMounts: grant.has("mounts:read") && !isLimited,
    canReadChange: (change) => {
      const { key, oldAttributes, newAttributes } = change;
      const paths = pathsOfChange(change);
      if (paths !== undefined) return grant.has("mounts:read") && seesPaths(paths);
      const groups = [oldAttributes, newAttributes].flatMap(
        (json) => parseDefinition(json)?.group ?? [],
      );
      return groups.length === 0 ? canRead(key) : groups.every((group) => grant.allows(key, group));
    },
    refuse: () => {
      throw outsideLimits(grant);
    },
    require: (keys) => {
      for (const key of keys) if (!canRead(key)) throw outsideLimits(grant);
    },
    requireWrite: (before, after) => {
      if (before === undefined && after !== undefined && !grant.allows(after.key, undefined))
        throw outsideLimits(grant);
      for (const item of [before, after]) {
        if (item === undefined) continue;
        if (!canReadItem(item)) throw outsideLimits(grant);
        if (item.key === TOKEN_KEY && !grant.isRoot)
          throw denied(message("PERMANENT_TOKEN_CHANGES_ITSELF"));
      }
    },
    requireScope: (scope) => {
      if (!grant.has(scope)) throw denied(message("SCOPE_MISSING", { scope }));
    },
  };
}

const rights = memoize((grant: Grant) =>
  memoize((snapshot: () => Snapshot) => rightsOf(grant, snapshot)),
);

/** Rights of a grant to single settings; created once per grant. */
export function rightsOfGrant(grant: Grant, snapshot: () => Snapshot): Rights {
  return rights(grant)(snapshot);
}

/** Rights of a caller to single settings. */
export function rightsOfCaller(
  context: Pick<HandlerContext, "values">,
  snapshot: () => Snapshot,
): Rights {
  return rightsOfGrant(grantOf(context), snapshot);
}
