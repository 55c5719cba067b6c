import type { HandlerContext } from "@connectrpc/connect";
import { type Grant, grantOf, outsideLimits, shareOf } from "../access/grant.ts";
import type { Replacement } from "../ledger/commit.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { ChangeHeader, StoredChange } from "../ledger/store.ts";
import type { ChangeOrigin, ChangeRights } from "../ledger/writer.ts";
import { memoize } from "../memoize.ts";
import { denied } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { SettingItem } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { TOKEN_KEY } from "./token.ts";

/** Rights of a caller on single settings, derived from the grant. */
export interface Rights extends ChangeRights {
  /** Whether the caller is limited to some settings. */
  readonly isLimited: boolean;
  /** Reports whether a value is sent as `********`. */
  isMasked(item: Pick<SettingItem, "key" | "secret">): boolean;
  /** Reports whether the caller may not read the value of a setting: masked, or outside of the limits. */
  hides(item: Pick<SettingItem, "key" | "group" | "secret">): boolean;
  /** Reports whether the values of a change are sent as `********`. */
  isMaskedChange(change: Pick<StoredChange, "key" | "oldHashes" | "newHashes">): boolean;
  /** The limits as one text, by which common events of streams are kept. */
  readonly limitsKey: string;
  /** Reports whether a current setting is visible. */
  canRead(key: string): boolean;
  canReadItem(item: Pick<SettingItem, "key" | "group">): boolean;
  /** Reports whether a change in the history, of any kind, is visible. */
  canReadChange(change: ChangeHeader): boolean;
  /** @throws PERMISSION_DENIED: outside of the caller's limits. */
  refuse(): never;
  /** Requires that all keys are readable. @throws PERMISSION_DENIED. */
  require(keys: Iterable<string>): void;
  /**
   * Requires that a change is permitted: only root writes the permanent token, and a new setting
   * counts as ungrouped, in any group. Records of other kinds are not checked.
   */
  requireWrite(replacement: Replacement): void;
  /** @throws PERMISSION_DENIED naming the scope. */
  requireScope(scope: string): void;
}

export function rightsOf(grant: Grant, snapshot: () => Snapshot): Rights {
  const isLimited = grant.limits.length > 0;
  const groupOf = (key: string): number | undefined => snapshot().get(SETTINGS, key)?.group;
  const canRead = (key: string): boolean => grant.allows(key, isLimited ? groupOf(key) : undefined);
  const canReadItem = ({ key, group }: Pick<SettingItem, "key" | "group">): boolean =>
    grant.allows(key, group);
  const reveals = grant.has("settings:reveal");
  // A reader of the permanent token has every right.
  const isMasked = ({ key, secret }: Pick<SettingItem, "key" | "secret">): boolean =>
    !grant.isRoot && secret && (!reveals || key === TOKEN_KEY);
  return {
    isLimited,
    share: shareOf(grant),
    limitsKey: grant.limits.join("\n"),
    isMasked,
    hides: (item) => isMasked(item) || (item.secret && !canReadItem(item)),
    isMaskedChange: ({ key, oldHashes, newHashes }) =>
      isMasked({ key, secret: oldHashes !== null || newHashes !== null }),
    canRead,
    canReadItem,
    canReadChange: (change) => {
      const current = snapshot();
      return current.rules({ name: change.kind }).canReadChange(grant, change, current);
    },
    refuse: () => {
      throw outsideLimits(grant);
    },
    require: (keys) => {
      for (const key of keys) if (!canRead(key)) throw outsideLimits(grant);
    },
    requireWrite: (replacement) => {
      if (replacement.kind.name !== SETTINGS.name) return;
      const { before, after } = replacement as Replacement<SettingItem>;
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

/** Actor of a change of settings, with their rights. */
export type SettingOrigin = ChangeOrigin<Rights>;
