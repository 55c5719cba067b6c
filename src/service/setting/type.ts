/** Input types of a setting (docs/rest-contract.md, section 2.4). */
const SETTING_TYPES = ["string", "text", "number", "bool", "select"] as const;

export type SettingType = (typeof SETTING_TYPES)[number];

/** Whether it is the name of an input type. */
export function isSettingType(name: string): name is SettingType {
  return (SETTING_TYPES as readonly string[]).includes(name);
}
