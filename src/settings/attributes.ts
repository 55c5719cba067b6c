import type { SettingDescription, SettingItem } from "./item.ts";

/** Reads the attributes of a setting in the history; undefined: it has none. */
export function parseDescription(json: string | null): SettingDescription | undefined {
  if (json === null) return undefined;
  const { type, options, help, group, flag } = JSON.parse(json) as SettingDescription;
  return { type, options, help, group, flag };
}

/** Attributes of a stored setting: its description, and whether the program has defined it. */
interface StoredAttributes extends SettingDescription {
  /** Absent: a client has created it. */
  readonly known?: true;
}

export function readAttributes(json: string): StoredAttributes {
  return JSON.parse(json) as StoredAttributes;
}

/** Attributes of a custom or retired setting. */
export function writeAttributes({
  type,
  options,
  help,
  group,
  flag,
  origin,
}: SettingDescription & Pick<SettingItem, "origin">): string {
  const description = { type, options, help, group, flag };
  return JSON.stringify(
    (origin === "known" ? { ...description, known: true } : description) satisfies StoredAttributes,
  );
}
