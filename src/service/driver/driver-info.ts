/** Input types of an item: those of the contract (section 2.3) and `float`. */
export const ITEM_TYPES = ["string", "text", "number", "float", "bool", "select"] as const;

export type ItemType = (typeof ITEM_TYPES)[number];

/**
 * One input of a driver's form. All driver values have the property names and the shape of the
 * messages in `proto/mooring/v1/driver.proto`, every member present, deeply frozen.
 */
export interface ConfigItem {
  readonly name: string;
  readonly type: ItemType;
  /** As text. Empty: none. */
  readonly default: string;
  /** Separated by commas. Empty: not limited to some values. */
  readonly options: string;
  readonly required: boolean;
  readonly help: string;
  /** An interface masks the value; Mooring quotes it nowhere. */
  readonly secret: boolean;
  /** `item=value|value`, or empty: always shown. */
  readonly showWhen: string;
  readonly min?: number;
  readonly max?: number;
}

/** Behaviour flags (contract, section 2.3), plus `onlyIndices` and `preferProxy`. */
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
}

/** All items of a driver in the order of a form: the common ones first. Names are unique. */
export function itemsOf(driver: DriverInfo): ConfigItem[] {
  return [...driver.common, ...driver.additional];
}
