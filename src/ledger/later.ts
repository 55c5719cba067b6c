import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SettingItem } from "../settings/item.ts";
import { MOUNTS, mountKey, readMountKey } from "../settings/mount-key.ts";
import { toChange } from "./commit.ts";
import type { Draft } from "./draft.ts";
import type { Item, Kind } from "./kind.ts";
import type { Snapshot } from "./snapshot.ts";
import type { StoredChange } from "./store.ts";

/**
 * Changes of a kind between a snapshot and a draft, one per key. A restore reads the history up to
 * the snapshot before it is decided, while other saves continue.
 */
export function changesAfter(
  base: Snapshot,
  draft: Draft,
  fingerprint: Fingerprint,
  of: Kind<Item>,
): StoredChange[] {
  if (base.revision === draft.revision) return [];
  const codec = { hash: fingerprint.of };
  const kind = of as Kind<SettingItem>;
  const keys = new Set([...draft.keys(kind), ...base.of(kind).keys()]);
  return [...keys]
    .map((key) => ({ kind, key, before: base.get(kind, key), after: draft.get(kind, key) }))
    .filter((one) => one.before?.revision !== one.after?.revision)
    .map((one) => {
      if (kind.name !== MOUNTS.name) return toChange(one, codec);
      const row = mountKey(readMountKey(one.key)?.name ?? "");
      const mount = { before: base.get(MOUNTS, row), after: draft.get(MOUNTS, row) };
      return toChange({ ...one, mount }, codec);
    });
}
