import type { Violation } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { checkKey, isSettingType, type SettingDefinition } from "./definition.ts";
import { latinOf } from "./look-alike.ts";
import { MOUNT_PREFIX } from "./mount-key.ts";
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
 * @returns one violation for each invalid member; `field` is the member's name.
 */
export function checkCustomDefinition(
  setting: CustomSetting,
  { isNew, isKnown }: { readonly isNew: boolean; readonly isKnown: (key: string) => boolean },
): Violation[] {
  const problems: Record<string, Text | undefined> = {
    key: isNew
      ? (checkMountKey(setting.key) ??
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
    decimal: true,
    index: 0,
  });
}

function checkMountKey(key: string): Text | undefined {
  return key.startsWith(MOUNT_PREFIX)
    ? message("KEY_PREFIX_RESERVED", { prefix: MOUNT_PREFIX })
    : undefined;
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
