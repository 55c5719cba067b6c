import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import { settings } from "../api/live.ts";
import { t } from "../i18n/language.ts";

/** Something with a key, which the service may have a name for. */
interface Named {
  readonly key: string;
  readonly label?: string;
}

/** What a setting is called: as the service says, else its key in words. */
export function labelOf({ key, label }: Named): string {
  const given = label || settings.value?.byKey.get(key)?.label;
  if (given) return given;
  const text = key.replaceAll("_", " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What a setting is for; empty where nobody has said it. */
export function aboutOf({ description, help }: Pick<Setting, "description" | "help">): string {
  return description || help;
}

/** What a group is called, as its settings say; others by their number. */
export function groupName(group: number, among: Iterable<Setting>): string {
  for (const setting of among)
    if (setting.group === group && setting.groupLabel !== "") return setting.groupLabel;
  return t("group.other", { number: group });
}

/** Order of the groups: the site's first, what stands alone last. */
export function groupOrder(group: number): number {
  return group === 0 ? Number.MAX_SAFE_INTEGER : group;
}

/** Whether the program does not know it: somebody has made it. */
export function isCustom({ families }: Pick<Setting, "families">): boolean {
  return families.length === 0;
}
