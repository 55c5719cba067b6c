import type { SettingStore, StoredSetting, StoredState } from "../../store/setting-store.ts";
import type { Sealer } from "./sealer.ts";

export interface ResealDeps {
  readonly store: Pick<SettingStore, "load" | "rewrite">;
  readonly sealer: Sealer;
  /** Whether the setting of a row is a secret one. */
  readonly isSecret: (row: StoredSetting) => boolean;
}

/**
 * Loads what is stored, and seals every secret in it that is in the clear or sealed with an older key.
 *
 * @throws ServiceError when a sealed value does not open; StoreError.
 */
export async function loadSealed({ store, sealer, isSecret }: ResealDeps): Promise<StoredState> {
  const staleOf = (settings: readonly StoredSetting[]) =>
    settings.filter((row) => isSecret(row) && sealer.needsReseal(row.value));
  const state = await store.load();
  if (staleOf(state.settings).length === 0) return state;
  return store.rewrite((settings) =>
    staleOf(settings).map((row) => ({
      ...row,
      value: sealer.seal(row.key, sealer.open(row.key, row.value)),
    })),
  );
}
