import type { Family } from "../config/family.ts";
import { memoize } from "../memoize.ts";
import type { Translate } from "../messages/language.ts";

/** Input types of an item: those of docs/rest-contract.md (section 2.3) and `float`. */
export const ITEM_TYPES = ["string", "text", "number", "float", "bool", "select"] as const;

export type ItemType = (typeof ITEM_TYPES)[number];

/**
 * Input of a driver's form. All driver values have the property names and the shape of the messages
 * in `proto/mooring/v1/driver.proto`, every member present, deeply frozen.
 */
export interface ConfigItem {
  readonly name: string;
  readonly type: ItemType;
  /** As text. Empty: no default. */
  readonly default: string;
  /** Separated by commas. Empty: any value. */
  readonly options: string;
  readonly required: boolean;
  /** Description, if the pages of legacy sites have their own hint; else empty. */
  readonly help: string;
  readonly description: string;
  /** Display name. */
  readonly label: string;
  /** Display names of the options, in the order of `options`. */
  readonly optionLabels: readonly string[];
  /** Unit of a number; empty: none. */
  readonly unit: string;
  /** Whether a number may have a fraction. */
  readonly fraction: boolean;
  /** Families that have this item; empty: defined by a deployment. */
  readonly families: readonly Family[];
  /** Whether the value is secret: user interfaces mask it, and messages never quote it. */
  readonly secret: boolean;
  /** Whether the value decides where the driver sends secrets: an address, a region, a proxy. */
  readonly destination: boolean;
  /** `item=value|value`, or empty: always shown. */
  readonly showWhen: string;
  /**
   * Names of items separated by commas: while one of them has a value, this item is not required,
   * because it belongs to another way to sign in. Empty: none.
   */
  readonly requiredUnless: string;
  readonly min?: number;
  readonly max?: number;
}

/** Behaviour flags (docs/rest-contract.md, section 2.3), plus `onlyIndices` and `preferProxy`. */
export interface DriverConfig {
  readonly name: string;
  readonly localSort: boolean;
  readonly onlyLocal: boolean;
  readonly onlyProxy: boolean;
  readonly noCache: boolean;
  readonly noUpload: boolean;
  readonly needMs: boolean;
  readonly defaultRoot: string;
  /** `level|text`, or empty. */
  readonly alert: string;
  readonly onlyIndices: boolean;
  readonly preferProxy: boolean;
}

/** A driver's template. */
export interface DriverInfo {
  readonly common: readonly ConfigItem[];
  readonly additional: readonly ConfigItem[];
  readonly config: DriverConfig;
  /** Display name of the service. */
  readonly label: string;
  /** URL of a page that explains how to obtain the values; empty: none. */
  readonly guide: string;
  /** Families that have this driver; empty: defined by a deployment. */
  readonly families: readonly Family[];
}

/** All items of a driver in the order of a form: the common ones first. Names are unique. */
export function itemsOf(driver: DriverInfo): ConfigItem[] {
  return [...driver.common, ...driver.additional];
}

/**
 * Creates a function that translates the display texts of templates. Items and lists that drivers share
 * are translated once and stay shared.
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
    // The level of an alert, with its separator, is no text.
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
