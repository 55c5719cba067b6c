import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import type { SettingItem } from "../../service/setting/item.ts";
import type { Snapshot } from "../../service/setting/snapshot.ts";
import { settingToProto } from "./message.ts";

/** Shows a setting of a snapshot. */
export type ShowSetting = (snapshot: Snapshot, item: SettingItem) => Setting;

/**
 * Shows settings as messages, made once for each state of a setting: after a change of one, a list
 * makes one anew.
 *
 * @param mask show `********` in place of secret values.
 */
export function createSettingView(
  managedBy: (key: string) => string | undefined,
  mask: boolean,
): ShowSetting {
  const made = new WeakMap<SettingItem, Setting>();
  return (snapshot, item) => {
    const index = snapshot.indexOf(item.key);
    const managed = managedBy(item.key) !== undefined;
    const known = made.get(item);
    if (known?.index === index && known.managed === managed) return known;
    const setting = settingToProto(item, { index, managed, mask });
    made.set(item, setting);
    return setting;
  };
}
