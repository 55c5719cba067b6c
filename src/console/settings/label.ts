import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { settings } from "../api/live.ts";
import { t } from "../i18n/language.ts";

/** Object with a key and optionally a label of the service. */
interface Named {
  readonly key: string;
  readonly label?: string;
}

/** Label of a setting: from the service, else derived from its key. */
export function labelOf({ key, label }: Named): string {
  const given = label || settings.value?.byKey.get(key)?.label;
  if (given) return given;
  const text = key.replaceAll("_", " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Description of a setting; empty without one. */
export function aboutOf({ description, help }: Pick<Setting, "description" | "help">): string {
  return description || help;
}

/** Name of a group, from its settings; else its number. */
export function groupName(group: number, among: Iterable<Setting>): string {
  for (const setting of among)
    if (setting.group === group && setting.groupLabel !== "") return setting.groupLabel;
  return t("group.other", { number: group });
}

/** Order of the groups: the site's first, separate ones last. */
export function groupOrder(group: number): number {
  return group === 0 ? Number.MAX_SAFE_INTEGER : group;
}

/** Reports whether it is a custom setting. */
export function isCustom({ families }: Pick<Setting, "families">): boolean {
  return families.length === 0;
}
