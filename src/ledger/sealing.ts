import { doneEntry } from "../audit/entry.ts";
import { startPeriodic } from "../periodic.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Codec } from "./codec.ts";
import type { LedgerStore, Rewrite, StoredState } from "./store.ts";

interface ResealDeps {
  readonly store: Pick<LedgerStore, "load" | "rewrite">;
  readonly codec: Codec;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** Origin of sealing in the audit. */
const RESEAL = { actor: "mooring", transport: "start", method: "seal", peer: "", requestId: "" };

/**
 * Loads what is stored, and seals every secret part in it that is in the clear or sealed with an
 * older key. The audit lists the sealed records with the public names of their earlier keys.
 *
 * @throws ServiceError when a sealed part does not open; StoreError.
 */
export async function loadSealed({ store, codec, now }: ResealDeps): Promise<StoredState> {
  const state = await store.load();
  if (!state.records.some(codec.needsReseal)) return state;
  return store.rewrite((records): Rewrite => {
    const stale = records.filter(codec.needsReseal);
    const sealed = stale.map((record) => codec.toStored(record.kind, codec.fromStored(record)));
    const [first] = sealed;
    // Another process has sealed them.
    if (first === undefined) return { records: [], audit: [] };
    const detail = {
      keys: sealed.length,
      with: codec.sealedBy(first)[0] ?? "",
      before: [...new Set(stale.flatMap(codec.sealedBy))].sort(),
    };
    const subjects = sealed.map(codec.nameOf);
    return { records: sealed, audit: [doneEntry(RESEAL, now(), subjects, detail)] };
  });
}

export interface RehashDeps {
  readonly store: Pick<LedgerStore, "rehash">;
  readonly fingerprint: Fingerprint;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** Origin of new hashes in the audit. */
const REHASH = { actor: "mooring", transport: "start", method: "rehash", peer: "", requestId: "" };

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
    audit: (hashes) => [doneEntry(REHASH, now(), [], { hashes, with: id })],
  });
}

export interface EraseDeps {
  readonly store: Pick<LedgerStore, "eraseReplaced">;
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
