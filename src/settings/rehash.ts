import { doneEntry } from "../audit/entry.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SettingStore } from "./store.ts";

export interface RehashDeps {
  readonly store: Pick<SettingStore, "rehash">;
  readonly fingerprint: Fingerprint;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** Origin of the change in the audit. */
const ORIGIN = { actor: "mooring", transport: "start", method: "rehash", peer: "", requestId: "" };

/**
 * Replaces stored hashes of secrets that were not made with the current sealing key, but without
 * one or with an earlier one. Does nothing without a sealing key.
 *
 * @throws StoreError.
 */
export async function rehashSecrets({ store, fingerprint, now }: RehashDeps): Promise<void> {
  if (!fingerprint.seals) return;
  const { form, renew } = fingerprint;
  const [, id] = form.split(":");
  await store.rehash({
    form,
    renew,
    audit: (hashes) => [doneEntry(ORIGIN, now(), [], { hashes, with: id })],
  });
}
