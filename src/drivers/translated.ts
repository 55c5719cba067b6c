import { memoize } from "../memoize.ts";
import type { Translate } from "../messages/language.ts";
import type { ConfigItem, DriverInfo } from "./driver-info.ts";

/**
 * Translates the display texts of templates. Equal items stay one object, as do lists of common
 * items.
 */
export function createDriverTranslation(translate: Translate): (driver: DriverInfo) => DriverInfo {
  const itemOf = memoize((item: ConfigItem): ConfigItem => {
    const description = translate(item.description);
    return Object.freeze({
      ...item,
      description,
      help: item.help === "" ? "" : description,
      label: translate(item.label),
      optionLabels: item.optionLabels.map(translate),
      unit: translate(item.unit),
    });
  });
  const listOf = memoize((list: readonly ConfigItem[]) => Object.freeze(list.map(itemOf)));
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
