import type { Fingerprint } from "../secrets/fingerprint.ts";
import { mountKey, readMountKey } from "../settings/mount-key.ts";
import { toChange } from "./commit.ts";
import type { Draft } from "./draft.ts";
import type { Snapshot } from "./snapshot.ts";
import type { StoredChange } from "./store.ts";

/**
 * Changes between a snapshot and a draft, one per key. A restore reads the history up to the
 * snapshot before it is decided, while other saves continue.
 */
export function changesAfter(
  base: Snapshot,
  draft: Draft,
  fingerprint: Fingerprint,
): StoredChange[] {
  if (base.revision === draft.revision) return [];
  const codec = { hash: fingerprint.of };
  const before = (key: string) => base.get(key) ?? base.mounts.get(key);
  const after = (key: string) => draft.get(key) ?? draft.mount(key);
  const keys = new Set([...draft.keys(), ...draft.mountKeys(), ...base.mounts.keys()]);
  for (const { key } of base.items()) keys.add(key);
  return [...keys]
    .map((key) => ({ key, before: before(key), after: after(key) }))
    .filter((one) => one.before?.revision !== one.after?.revision)
    .map((one) => {
      if ((one.before ?? one.after)?.origin !== "mount") return toChange(one, codec);
      const row = mountKey(readMountKey(one.key)?.name ?? "");
      const mount = { before: base.mounts.get(row), after: draft.mount(row) };
      return toChange({ ...one, mount }, codec);
    });
}
