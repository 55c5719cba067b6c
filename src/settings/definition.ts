import type { Family } from "../config/family.ts";
import { message, type Text } from "../messages/message.ts";
import type { FormatName } from "./format/registry.ts";

/** Input types of a setting (docs/rest-contract.md, section 2.4). */
const SETTING_TYPES = ["string", "text", "number", "bool", "select"] as const;

export type SettingType = (typeof SETTING_TYPES)[number];

/** Reports whether a name is an input type. */
export function isSettingType(name: string): name is SettingType {
  return (SETTING_TYPES as readonly string[]).includes(name);
}

/** Known setting, as defined in src/data/settings.json. Frozen. */
export interface SettingDefinition {
  readonly key: string;
  readonly type: SettingType;
  /**
   * Values of a select, separated by commas. Empty for other types, and for a select with options
   * that each site defines: it accepts any text.
   */
  readonly options: string;
  /** Group of the front end (docs/rest-contract.md, section 2.4). */
  readonly group: number;
  /** 0 public, 1 private, 2 readonly, 3 deprecated. */
  readonly flag: number;
  /** Value of a setting without a stored one. */
  readonly default: string;
  /** Description, if the pages of legacy sites have their own hint; empty otherwise. */
  readonly help: string;
  readonly description: string;
  /** Display name. */
  readonly label: string;
  /** Display names of the options, in the order of `options`. */
  readonly optionLabels: readonly string[];
  /** Display name of the group. */
  readonly groupLabel: string;
  /** The families that have this setting. */
  readonly families: readonly Family[];
  /** Whether the value is or may contain a password, token or key: never in messages, log or history. */
  readonly secret: boolean;
  /** Keys of the secrets that servers send to where this setting points. */
  readonly destinationOf: readonly string[];
  /** Whether a number may have a fraction. */
  readonly decimal: boolean;
  /** Inclusive bounds of a number. */
  readonly min?: number;
  readonly max?: number;
  /** Unit of a number, for display. */
  readonly unit?: string;
  /** Format of the value in addition to its type. */
  readonly format?: FormatName;
  /** Position in the order of lists, from 0. */
  readonly index: number;
}

/** Maximum number of characters of a key. */
const MAX_KEY = 255;

/**
 * Checks a key: 1 to 255 visible characters in NFC, without surrounding white space.
 *
 * @returns the problem and the valid form; undefined: none.
 */
export function checkKey(key: string): Text | undefined {
  if (key === "") return message("EMPTY");
  if (key.length > 2 * MAX_KEY || [...key].length > MAX_KEY)
    return message("KEY_TOO_LONG", { most: MAX_KEY });
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(key)) return message("LINE_BREAK");
  const hidden = /[\p{Cf}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u.exec(key)?.[0];
  if (hidden !== undefined) return message("CHARACTER_INVALID", { character: codePoint(hidden) });
  if (key !== key.normalize("NFC")) return message("TEXT_NOT_NFC");
  return key.trim() === key ? undefined : message("WHITE_SPACE_AROUND");
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
