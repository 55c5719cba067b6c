import type { Fingerprint } from "../secrets/fingerprint.ts";
import { hashParts } from "./codec.ts";
import { toChange } from "./commit.ts";
import type { Draft } from "./draft.ts";
import type { Snapshot } from "./snapshot.ts";
import type { PartTexts, StoredChange } from "./store.ts";

/**
 * Changes between a snapshot and a draft, one per record. A restore reads the history up to the
 * snapshot before it is decided, while other saves continue.
 */
export function changesAfter(
  base: Snapshot,
  draft: Draft,
  fingerprint: Pick<Fingerprint, "of">,
): StoredChange[] {
  if (base.revision === draft.revision) return [];
  const codec = {
    rules: (name: string) => base.rules({ name }),
    hashes: (secrets: PartTexts) => hashParts(secrets, fingerprint),
  };
  return base.kinds().flatMap((kind) => {
    const keys = new Set([...draft.keys(kind), ...base.of(kind).keys()]);
    return [...keys]
      .map((key) => ({ kind, key, before: base.get(kind, key), after: draft.get(kind, key) }))
      .filter((one) => one.before?.revision !== one.after?.revision)
      .map((replacement) => toChange(replacement, codec));
  });
}
