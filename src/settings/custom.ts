import type { Violation } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { checkKey, isSettingType, type SettingDefinition } from "./definition.ts";
import { checkText } from "./value.ts";

/** Maximum size of a help text and of a list of options, in UTF-8 bytes. */
const MAX_PROSE = 4_096;
const MAX_INT32 = 2 ** 31 - 1;

/** Custom setting (unknown to the program) as sent by a client. */
export interface CustomSetting {
  readonly key: string;
  readonly type: string;
  readonly options: string;
  readonly group: number;
  readonly flag: number;
  readonly help: string;
  readonly secret?: boolean;
}

/**
 * Checks a custom setting, except for its value.
 *
 * @param isNew whether to check the key; existing keys may be changed and deleted.
 * @param isKnown whether a key is one of the program's own settings.
 * @param reserved beginnings of the names of other records, which no key may have. Default: none.
 * @returns one violation for each invalid member; `field` is the member's name.
 */
export function checkCustomDefinition(
  setting: CustomSetting,
  {
    isNew,
    isKnown,
    reserved = [],
  }: {
    readonly isNew: boolean;
    readonly isKnown: (key: string) => boolean;
    readonly reserved?: readonly string[];
  },
): Violation[] {
  const problems: Record<string, Text | undefined> = {
    key: isNew
      ? (checkPrefix(setting.key, reserved) ??
        checkKey(setting.key) ??
        checkLookAlike(setting.key, isKnown))
      : undefined,
    type: isSettingType(setting.type) ? undefined : message("TYPE_INVALID"),
    options: checkText(setting.options, MAX_PROSE) ?? checkOptions(setting),
    group: checkWhole(setting.group, -MAX_INT32 - 1, MAX_INT32),
    flag: checkWhole(setting.flag, 0, 3),
    help: checkText(setting.help, MAX_PROSE),
  };
  return Object.entries(problems).flatMap(([field, description]) =>
    description === undefined ? [] : [{ field, description }],
  );
}

/**
 * Definition for checking the values of a custom setting: numbers may have a fraction, and a select may
 * be empty.
 */
export function customDefinition(setting: CustomSetting): SettingDefinition {
  const { key, type, options, group, flag, help, secret = false } = setting;
  return Object.freeze({
    key,
    // A deprecated setting can come from a program with other types: its value is text.
    type: isSettingType(type) ? type : "text",
    options,
    group,
    flag,
    default: "",
    help,
    description: help,
    label: key,
    optionLabels: [],
    groupLabel: "",
    families: [],
    secret,
    destinationOf: [],
    decimal: true,
    index: 0,
  });
}

function checkPrefix(key: string, reserved: readonly string[]): Text | undefined {
  const prefix = reserved.find((each) => key.startsWith(each));
  return prefix === undefined ? undefined : message("KEY_PREFIX_RESERVED", { prefix });
}

function checkLookAlike(key: string, isKnown: (key: string) => boolean): Text | undefined {
  const same = latinOf(key);
  return same !== key && isKnown(same) ? message("KEY_CONFUSABLE", { key: same }) : undefined;
}

function checkOptions({ type, options }: CustomSetting): Text | undefined {
  if (type !== "select")
    return options === "" || !isSettingType(type)
      ? undefined
      : message("OPTIONS_NOT_EMPTY", { type });
  return options.split(",").some((option) => option !== "") ? undefined : message("OPTIONS_EMPTY");
}

function checkWhole(number: number, min: number, max: number): Text | undefined {
  return Number.isInteger(number) && number >= min && number <= max
    ? undefined
    : message("WHOLE_NUMBER_RANGE", { min, max });
}

/**
 * Letters of other scripts that resemble Latin ones: a selection of Unicode confusables (UTS 39, section
 * 4) for the characters of known keys. They are refused in new keys; rights of tokens use exact keys.
 */
const LATIN: Readonly<Record<string, string>> = {
  a: "\u0430\u03b1\u0251\u237a",
  b: "\u044c\u13cf\u1472",
  c: "\u0441\u03f2\u1d04\u2ca5",
  d: "\u0501\u13e7\u146f",
  e: "\u0435\u212e\u04bd\uab32",
  f: "\u0192\u0584\ua799\uab35",
  g: "\u0261\u0581\u018d\u1d83",
  h: "\u04bb\u0570\u13c2",
  i: "\u0456\u03b9\u0131\u0269\u026a\u04cf\u13a5",
  j: "\u0458\u03f3",
  k: "\u043a\u03ba\u0138\u2c95",
  l: "\u01c0\u05c0\u0627\u2223",
  m: "\u043c\u217f",
  n: "\u0578\u057c\u043f\u03c0",
  o: "\u043e\u03bf\u03c3\u0585\u1d0f\u10ff\u2c9f",
  p: "\u0440\u03c1\u2374\u2ca3",
  q: "\u051b\u0563\u0566",
  r: "\u0433\u1d26\u2c85\uab47",
  s: "\u0455\u01bd\ua731\uabaa",
  t: "\u0442\u03c4\u1d1b",
  u: "\u03c5\u057d\u028b\u1d1c\ua79f",
  v: "\u0475\u03bd\u2228\u1d20",
  w: "\u0461\u0561\u051d\u026f\u1d21",
  x: "\u0445\u00d7\u166d\u157d",
  y: "\u0443\u03b3\u04af\u028f\u10e7\u1d8c",
  z: "\u1d22\uab93",
  "-": "\u2010\u2011\u2012\u2013\u2014\u2212\u02d7",
  _: "\u2017\u02cd",
  ".": "\u2024\u06d4\u0660",
};

const latinLetterOf = new Map(
  Object.entries(LATIN).flatMap(([latin, others]) => [...others].map((other) => [other, latin])),
);

/**
 * Replaces compatibility forms (full width, mathematical letters) and letters of other scripts by the
 * Latin letters that they resemble, in lower case and without accents. ASCII text is unchanged.
 */
function latinOf(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  const plain = text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return [...plain].map((letter) => latinLetterOf.get(letter) ?? letter).join("");
}
