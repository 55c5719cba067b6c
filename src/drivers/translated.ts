import type { Translate } from "../messages/language.ts";
import type { ConfigItem, DriverInfo } from "./driver-info.ts";

/**
 * Translates the texts of templates that are for people. Equal items stay one object, as lists of
 * common items do.
 */
export function createDriverTranslation(translate: Translate): (driver: DriverInfo) => DriverInfo {
  const items = new WeakMap<ConfigItem, ConfigItem>();
  const lists = new WeakMap<readonly ConfigItem[], readonly ConfigItem[]>();

  const itemOf = (item: ConfigItem): ConfigItem => {
    const known = items.get(item);
    if (known !== undefined) return known;
    const description = translate(item.description);
    const made = Object.freeze({
      ...item,
      description,
      help: item.help === "" ? "" : description,
      label: translate(item.label),
      optionLabels: item.optionLabels.map(translate),
      unit: translate(item.unit),
    });
    items.set(item, made);
    return made;
  };
  const listOf = (list: readonly ConfigItem[]): readonly ConfigItem[] => {
    const made = lists.get(list) ?? Object.freeze(list.map(itemOf));
    lists.set(list, made);
    return made;
  };
  return (driver) => {
    const { config } = driver;
    const [, level = "", alert = ""] = /^([a-z]+\|)?(.*)$/s.exec(config.alert) ?? [];
    return Object.freeze({
      ...driver,
      label: translate(driver.label),
      common: listOf(driver.common),
      additional: listOf(driver.additional),
      config: Object.freeze({ ...config, alert: level + translate(alert) }),
    });
  };
}
