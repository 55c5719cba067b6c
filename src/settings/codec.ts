import { doneEntry } from "../audit/entry.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer, type Sealer } from "../secrets/sealer.ts";
import type { ItemCodec } from "./commit.ts";
import type { SettingDefinition } from "./definition.ts";
import { itemFromStored, itemToStored, knownItem, type SettingItem } from "./item.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import type { Rewrite, SettingStore, StoredSetting, StoredState } from "./store.ts";

/** Converts rows, whose secrets are sealed, to items and back. */
interface Codec extends ItemCodec {
  fromStored(row: StoredSetting): SettingItem;
  isSecret(row: StoredSetting): boolean;
  /** Returns the item of a key without a row: a known setting with its default value. */
  absent(key: string): SettingItem | undefined;
  snapshotOf(state: StoredState): Snapshot;
}

/** Sealer without keys: escapes values that look like sealed ones. */
const unsealed = createSealer([]);

/** Creates the codec for the settings of this version of the program. */
export function createCodec({
  definitions,
  sealer,
  fingerprint,
}: {
  readonly definitions: readonly SettingDefinition[];
  readonly sealer: Sealer;
  readonly fingerprint: Fingerprint;
}): Codec {
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  const fromStored = (row: StoredSetting): SettingItem => {
    const definition = definitionOf.get(row.key);
    const value = sealer.open(row.key, row.value);
    return itemFromStored(value === row.value ? row : { ...row, value }, definition);
  };
  const absent = (key: string): SettingItem | undefined => {
    const definition = definitionOf.get(key);
    return definition && knownItem(definition);
  };
  return {
    fromStored,
    absent,
    isSecret: (row) => itemFromStored(row, definitionOf.get(row.key)).secret,
    seals: sealer.seals,
    isSealed: (row) => sealer.isSealed(row.value),
    hash: fingerprint.of,
    toStored: (item) => {
      const row = itemToStored(item);
      const { seal } = item.secret ? sealer : unsealed;
      return { ...row, value: seal(item.key, item.value) };
    },
    snapshotOf: ({ revision, settings }) => {
      const stored = new Map(settings.map((row) => [row.key, row]));
      const known = definitions.map(({ key }) => {
        const row = stored.get(key);
        return row === undefined ? absent(key) : fromStored(row);
      });
      const others = settings.filter((row) => !definitionOf.has(row.key)).map(fromStored);
      const items = [...known, ...others].filter((item) => item !== undefined);
      return createSnapshot(
        revision,
        items.filter(({ origin }) => origin !== "mount"),
        items.filter(({ origin }) => origin === "mount"),
      );
    },
  };
}

interface ResealDeps {
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
 * Loads what is stored, and seals every secret in it that is in the clear or sealed with an older
 * key. The audit lists the sealed settings with the public names of their earlier keys.
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
    // Another process has sealed them.
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
