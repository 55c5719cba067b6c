import { type Amounts, type KindRules, kindNamed } from "../ledger/kind.ts";
import type { Limit } from "../ledger/limit.ts";
import { message } from "../messages/message.ts";
import type { SettingDefinition } from "./definition.ts";
import { isDescribedAs, isPublic, type SettingItem } from "./item.ts";

/** Settings in the ledger. */
export const SETTINGS = kindNamed<SettingItem>("setting");

export interface SettingRules extends KindRules<SettingItem> {
  /** Keys of the known settings, in the order of their definitions. */
  readonly known: readonly string[];
}

/** Rules of settings in the ledger, for the settings of this version of the program. */
export function settingRules(definitions: readonly SettingDefinition[]): SettingRules {
  return {
    kind: SETTINGS,
    known: definitions.map(({ key }) => key),
    keyOf: ({ key }) => key,
    positionOf: ({ position }) => position,
    isSame: (a, b) => a.value === b.value && isDescribedAs(a, b),
    amountsOf,
  };
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
