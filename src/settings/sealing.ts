import { doneEntry } from "../audit/entry.ts";
import { startPeriodic } from "../periodic.ts";
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

export interface EraseDeps {
  readonly store: Pick<SettingStore, "eraseReplaced">;
  /** Interval of attempts, in milliseconds. */
  readonly interval: number;
  /** Called once when clear text of sealed secrets remains in a file, with the reason. */
  readonly onLeft: (reason: string) => void;
  /** Called after onLeft, when the clear text has been removed. */
  readonly onGone: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Removes the clear text of sealed values from the files of the database. After a failure it
 * reports the reason and retries in the background until it succeeds.
 *
 * @returns after the first attempt, with a function that stops the retries.
 */
export async function startErasing(deps: EraseDeps): Promise<() => Promise<void>> {
  let isReported = false;
  const job = startPeriodic(async () => {
    const left = await deps.store.eraseReplaced();
    if (left === undefined) {
      void job.stop();
      if (isReported) deps.onGone();
    } else if (!isReported) {
      isReported = true;
      deps.onLeft(left);
    }
  }, deps);
  await job.run();
  return job.stop;
}
