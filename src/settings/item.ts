import type { StoredRecord } from "../ledger/store.ts";
import type { Text } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer, type Sealer } from "../secrets/sealer.ts";
import type { SettingDefinition } from "./definition.ts";

/** Flags of a setting (docs/rest-contract.md, section 2.4). */
export const FLAG = { public: 0, private: 1, readonly: 2, deprecated: 3 } as const;

/** Setting at one revision. Frozen. */
export interface SettingItem {
  readonly key: string;
  readonly value: string;
  /** Description, also of known settings. */
  readonly help: string;
  readonly type: string;
  readonly options: string;
  readonly group: number;
  readonly flag: number;
  readonly secret: boolean;
  /** Order of custom settings among themselves; 0 for known ones. */
  readonly position: number;
  /** Revision of the value; 0: the default. */
  readonly revision: number;
  /**
   * `known`: defined by this or an earlier version of the program. `custom`: created by a client.
   * `mount`: a mount, which is in no list of settings.
   */
  readonly origin: StoredRecord["origin"];
  /** The program's definition; undefined for custom and deprecated settings. */
  readonly definition: SettingDefinition | undefined;
}

/** A setting without its value. */
export type SettingDescription = Pick<SettingItem, "type" | "options" | "help" | "group" | "flag">;

/** Reports whether two settings are equal except for their values. */
export function isDescribedAs(a: SettingDescription, b: SettingDescription): boolean {
  return (
    a.type === b.type &&
    a.options === b.options &&
    a.help === b.help &&
    a.group === b.group &&
    a.flag === b.flag
  );
}

/** A known setting with a value, or with its default. */
export function knownItem(
  definition: SettingDefinition,
  value: string = definition.default,
  revision = 0,
): SettingItem {
  return Object.freeze({
    key: definition.key,
    value,
    help: definition.description,
    type: definition.type,
    options: definition.options,
    group: definition.group,
    flag: definition.flag,
    secret: definition.secret,
    position: 0,
    revision,
    origin: "known",
    definition,
  });
}

/**
 * Converts a stored row. The current definition replaces the stored one. A known setting that is no
 * longer defined is deprecated and keeps its value.
 */
export function itemFromStored(
  row: StoredRecord,
  definition: SettingDefinition | undefined,
): SettingItem {
  if (definition !== undefined) return knownItem(definition, row.value, row.revision);
  return Object.freeze({
    key: row.key,
    value: row.value,
    help: row.help,
    type: row.type,
    options: row.options,
    group: row.group,
    flag: row.origin === "known" ? FLAG.deprecated : row.flag,
    secret: row.origin !== "custom" && row.flag === FLAG.private,
    position: row.position,
    revision: row.revision,
    origin: row.origin,
    definition: undefined,
  });
}

/** Converts an item to a row, with the value unsealed. */
export function itemToStored(item: SettingItem): StoredRecord {
  return {
    key: item.key,
    value: item.value,
    type: item.type,
    options: item.options,
    help: item.help,
    group: item.group,
    flag: isRetired(item) ? retiredFlag(item) : item.flag,
    origin: item.origin,
    position: item.position,
    revision: item.revision,
  };
}

/**
 * Reports whether an earlier version of the program defined the setting: clients can change its
 * value only.
 */
export function isRetired({ origin, definition }: SettingItem): boolean {
  return origin === "known" && definition === undefined;
}

/** Flag of a retired setting, which stores whether it was secret. */
function retiredFlag({ secret }: SettingItem): number {
  return secret ? FLAG.private : FLAG.deprecated;
}

/** Converts items to rows and back; secrets are sealed in rows and hashed in the history. */
export interface ItemCodec {
  /** Whether a sealing key is configured. */
  readonly seals: boolean;
  isSealed(row: StoredRecord): boolean;
  toStored(item: SettingItem): StoredRecord;
  fromStored(row: StoredRecord): SettingItem;
  isSecret(row: StoredRecord): boolean;
  /** Returns the item of a key without a row: a known setting with its default value. */
  absent(key: string): SettingItem | undefined;
  /** Returns the hash that replaces a secret value in the history. */
  hash(value: string): string;
}

/** Sealer without keys: escapes values that look like sealed ones. */
const unsealed = createSealer([]);

/** Creates the codec for the settings of this version of the program. */
export function createItemCodec({
  definitions,
  sealer,
  fingerprint,
}: {
  readonly definitions: readonly SettingDefinition[];
  readonly sealer: Sealer;
  readonly fingerprint: Fingerprint;
}): ItemCodec {
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  return {
    absent: (key) => {
      const definition = definitionOf.get(key);
      return definition && knownItem(definition);
    },
    fromStored: (row) => {
      const value = sealer.open(row.key, row.value);
      return itemFromStored(
        value === row.value ? row : { ...row, value },
        definitionOf.get(row.key),
      );
    },
    isSecret: (row) => itemFromStored(row, definitionOf.get(row.key)).secret,
    seals: sealer.seals,
    isSealed: (row) => sealer.isSealed(row.value),
    hash: fingerprint.of,
    toStored: (item) => {
      const row = itemToStored(item);
      const { seal } = item.secret ? sealer : unsealed;
      return { ...row, value: seal(item.key, item.value) };
    },
  };
}

/** Reports whether the setting can be read without a token (docs/rest-contract.md, section 2.5). */
export function isPublic(item: SettingItem): boolean {
  return item.flag === FLAG.public || item.flag === FLAG.readonly;
}

/** Setting that a change left unchanged. */
export interface Skipped {
  readonly key: string;
  /** Reason, for display. */
  readonly reason: Text;
  /** The newer value of another caller stays; the sent one is what the client had read. */
  readonly isOutdated?: boolean;
}
