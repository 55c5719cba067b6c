import { doneEntry } from "../audit/entry.ts";
import type { Sealer } from "../secrets/sealer.ts";
import type { Rewrite, SettingStore, StoredSetting, StoredState } from "./store.ts";

export interface ResealDeps {
  readonly store: Pick<SettingStore, "load" | "rewrite">;
  readonly sealer: Sealer;
  /** Reports whether the setting of a row is secret. */
  readonly isSecret: (row: StoredSetting) => boolean;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** Origin for the audit. */
const ORIGIN = { actor: "mooring", transport: "start", method: "seal", peer: "", requestId: "" };

/**
 * Loads what is stored, and seals every secret in it that is in the clear or sealed with an older key.
 * The audit says which were sealed, and with the public names of the keys what they were before.
 *
 * @throws ServiceError when a sealed value does not open; StoreError.
 */
export async function loadSealed(deps: ResealDeps): Promise<StoredState> {
  const { store, sealer, isSecret, now } = deps;
  const staleOf = (settings: readonly StoredSetting[]) =>
    settings.filter((row) => isSecret(row) && sealer.needsReseal(row.value));
  const state = await store.load();
  if (staleOf(state.settings).length === 0) return state;
  return store.rewrite((settings): Rewrite => {
    const stale = staleOf(settings);
    const sealed = stale.map((row) => ({
      ...row,
      value: sealer.seal(row.key, sealer.open(row.key, row.value)),
    }));
    const [first] = sealed;
    // Another process was faster.
    if (first === undefined) return { settings: [], audit: [] };
    const detail = {
      keys: sealed.length,
      with: sealer.keyOf(first.value),
      before: [...new Set(stale.map(({ value }) => sealer.keyOf(value) ?? "clear"))].sort(),
    };
    const subjects = sealed.map(({ key }) => key);
    return { settings: sealed, audit: [doneEntry(ORIGIN, now(), subjects, detail)] };
  });
}
