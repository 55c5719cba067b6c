import { type Amounts, type KindRules, kindNamed, NO_SECRETS } from "../ledger/kind.ts";
import type { Limit } from "../ledger/limit.ts";
import type { RecordName, StoredChange, StoredRecord } from "../ledger/store.ts";
import { notFound, type ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { parseDescription, readAttributes, writeAttributes } from "./attributes.ts";
import type { SettingDefinition } from "./definition.ts";
import { FLAG, isDescribedAs, isPublic, knownItem, type SettingItem } from "./item.ts";
import { TOKEN_KEY } from "./token.ts";

/** Settings in the ledger. */
export const SETTINGS = kindNamed<SettingItem>("setting");

/** Name of a setting in the ledger. */
export function settingNamed(key: string): RecordName {
  return { kind: SETTINGS.name, key };
}

/** Hash of a secret setting before a change; undefined: it did not exist, or was not secret. */
export function oldHashOf({ oldHashes }: Pick<StoredChange, "oldHashes">): string | undefined {
  return oldHashes?.[VALUE];
}

/** Name of the only part of a secret setting. */
const VALUE = "value";

/** Rules of settings in the ledger, for the settings of this version of the program. */
export function settingRules(definitions: readonly SettingDefinition[]): KindRules<SettingItem> {
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  const known = new Map(
    definitions.map((definition) => [
      definition,
      writeAttributes({ ...definition, help: definition.description, origin: "known" }),
    ]),
  );
  const attributesOf = (item: SettingItem): string =>
    (item.definition && known.get(item.definition)) ?? writeAttributes(item);
  return {
    kind: SETTINGS,
    prefix: "",
    subjectsOf: ({ key }) => [key],
    keyOf: ({ key }) => key,
    positionOf: ({ position }) => position,
    encode: (item) => {
      const attributes = attributesOf(item);
      return item.secret
        ? { body: null, attributes, secrets: { [VALUE]: item.value } }
        : { body: item.value, attributes, secrets: NO_SECRETS };
    },
    decode: (record) => itemOf(record, definitionOf.get(record.key)),
    historyAttributes: (item) => (item.definition === undefined ? writeAttributes(item) : null),
    isSame: (a, b) => a.value === b.value && isDescribedAs(a, b),
    amountsOf,
    known: [...definitionOf.keys()],
    absent: (key) => {
      const definition = definitionOf.get(key);
      return definition && knownItem(definition);
    },
    isExposed: ({ key, body }) => definitionOf.get(key)?.secret === true && body !== null,
    canReadChange: (grant, { key, oldAttributes, newAttributes }, current) => {
      if (grant.limits.length === 0) return true;
      const groups = [oldAttributes, newAttributes].flatMap(
        (json) => parseDescription(json)?.group ?? [],
      );
      if (groups.length > 0) return groups.every((group) => grant.allows(key, group));
      return grant.allows(key, current.get(SETTINGS, key)?.group);
    },
    // A reset token ends the right of its holder.
    isUrgent: ({ key }) => key === TOKEN_KEY,
  };
}

/**
 * Converts a record. The current definition replaces the stored one. A known setting that is no
 * longer defined is deprecated and keeps its value.
 */
function itemOf(
  { key, body, attributes, secrets, position, revision }: StoredRecord,
  definition: SettingDefinition | undefined,
): SettingItem {
  const value = body ?? secrets[VALUE] ?? "";
  if (definition !== undefined) return knownItem(definition, value, revision);
  const { known = false, type, options, help, group, flag } = readAttributes(attributes);
  return Object.freeze({
    key,
    value,
    help,
    type,
    options,
    group,
    flag: known ? FLAG.deprecated : flag,
    secret: body === null,
    position,
    revision,
    origin: known ? "known" : "custom",
    definition: undefined,
  });
}

function amountsOf(item: SettingItem): Amounts {
  const bytes = bytesOf(item);
  return {
    custom: item.origin === "custom" ? 1 : 0,
    bytes,
    publicBytes: isPublic(item) ? bytes : 0,
  };
}

/** UTF-8 bytes of a setting. The texts of known settings are the program's and do not count. */
function bytesOf({ key, value, help, options, definition }: SettingItem): number {
  const own = Buffer.byteLength(key) + Buffer.byteLength(value);
  if (definition !== undefined) return own;
  return own + Buffer.byteLength(help) + Buffer.byteLength(options);
}

/** Bounds of all settings together. */
export interface SettingLimits {
  /** Number of custom settings. */
  readonly custom: number;
  /** UTF-8 bytes of all settings: keys, values, and definitions of custom settings. */
  readonly bytes: number;
  /** Bytes of the settings that can be read without a token. */
  readonly publicBytes: number;
}

/** Bounds of the amounts of settings. */
export function settingLimits({ custom, bytes, publicBytes }: SettingLimits): readonly Limit[] {
  return [
    {
      name: "custom",
      most: custom,
      exceeded: (count, most) => message("TOO_MANY_CUSTOM_SETTINGS", { count, most }),
    },
    {
      name: "bytes",
      most: bytes,
      exceeded: (count, most) => message("SETTINGS_TOO_LARGE", { count, most }),
    },
    {
      name: "publicBytes",
      most: publicBytes,
      exceeded: (count, most) => message("PUBLIC_SETTINGS_TOO_LARGE", { count, most }),
    },
  ];
}

/** NOT_FOUND with the key. */
export function unknownSetting(key: string): ServiceError {
  return notFound(message("SETTING_NOT_FOUND", { key: key.slice(0, 255) }));
}
