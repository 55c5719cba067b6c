import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer, type Sealer } from "../secrets/sealer.ts";
import type { ItemCodec } from "./commit.ts";
import type { SettingDefinition } from "./definition.ts";
import { itemFromStored, itemToStored, knownItem, type SettingItem } from "./item.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import type { StoredSetting, StoredState } from "./store.ts";

/** Converts rows, whose secrets are sealed, to items and back. */
export interface Codec extends ItemCodec {
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
