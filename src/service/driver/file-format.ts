import type { JsonPath } from "../json-source.ts";
import { ITEM_TYPES, type ItemType } from "./driver-info.ts";
import { LIMITS } from "./limits.ts";
import type { Finding } from "./problem.ts";
import {
  checkShape,
  finiteNumber,
  flag,
  isObject,
  kindOf,
  oneOf,
  type Shape,
  textLike,
  textUpTo,
} from "./shape.ts";

/** An item as a file writes it: described in whole, or a shared one with changes. */
export interface ItemText {
  readonly use?: string;
  readonly name?: string;
  readonly type?: ItemType;
  readonly default?: string;
  readonly options?: string;
  readonly required?: boolean;
  readonly help?: string;
  readonly secret?: boolean;
  readonly show_when?: string;
  readonly min?: number;
  readonly max?: number;
}

/** A shared item; `from_default_root`: default and required follow the driver's default_root. */
export interface SharedItemText extends Omit<ItemText, "use" | "name" | "type"> {
  readonly type: ItemType;
  readonly from_default_root?: boolean;
}

/** A driver file. `src/data/driver.schema.json` says the same for editors. */
export interface DriverText {
  readonly name: string;
  readonly config?: {
    readonly local_sort?: boolean;
    readonly only_local?: boolean;
    readonly only_proxy?: boolean;
    readonly no_cache?: boolean;
    readonly no_upload?: boolean;
    readonly need_ms?: boolean;
    readonly default_root?: string;
    readonly alert?: string;
    readonly only_indices?: boolean;
    readonly prefer_proxy?: boolean;
  };
  readonly no_link_url?: boolean;
  readonly proxy_range?: boolean;
  readonly additional?: readonly ItemText[];
}

// At least one letter: an object keeps members that are whole numbers out of order.
const DRIVER_NAME = /^(?=.*\p{L})[\p{L}\p{N}](?:[\p{L}\p{N} ._+()&-]*[\p{L}\p{N}._+()&-])?$/u;
const ITEM_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

const driverName = textLike(
  DRIVER_NAME,
  LIMITS.name,
  "must be letters, digits, spaces and . _ + - ( ) &, begin with a letter or digit and have a letter",
);

const itemName = textLike(
  ITEM_NAME,
  LIMITS.name,
  "must be letters, digits and underscores, and begin with a letter",
);

/** Members that every object has in many languages would be found where no item is. */
const RESERVED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

const freeName = (value: unknown) =>
  itemName(value) ??
  (RESERVED.has(value as string) ? "is a name that programs reserve: choose another" : undefined);

const ITEM_FACTS: Shape = {
  type: oneOf(ITEM_TYPES),
  default: textUpTo(LIMITS.defaultText),
  options: textUpTo(LIMITS.options),
  required: flag,
  help: textUpTo(LIMITS.help),
  secret: flag,
  show_when: textLike(/^[A-Za-z]\w*=/, LIMITS.condition, "must have the form item=value|value"),
  min: finiteNumber,
  max: finiteNumber,
};

const OWN_ITEM: Shape = { name: freeName, ...ITEM_FACTS };
const USED_ITEM: Shape = { use: itemName, ...ITEM_FACTS };
const SHARED_ITEM: Shape = { from_default_root: flag, ...ITEM_FACTS };

const CONFIG: Shape = {
  local_sort: flag,
  only_local: flag,
  only_proxy: flag,
  no_cache: flag,
  no_upload: flag,
  need_ms: flag,
  default_root: textUpTo(LIMITS.defaultText),
  alert: textLike(
    /^(?:info|success|warning|danger)\|.*\S/s,
    LIMITS.help,
    "must have the form level|text, with level info, success, warning or danger",
  ),
  only_indices: flag,
  prefer_proxy: flag,
};

const DRIVER: Shape = {
  $schema: textUpTo(LIMITS.help),
  name: driverName,
  // These two are checked member by member below.
  config: () => undefined,
  additional: (value) =>
    Array.isArray(value) ? undefined : `must be an array, not ${kindOf(value)}`,
  no_link_url: flag,
  proxy_range: flag,
};

/** Findings about the form of a driver file. None: it is a DriverText. */
export function checkDriverText(value: unknown): Finding[] {
  const findings = checkShape(value, [], DRIVER);
  if (!isObject(value)) return findings;
  const { config, additional } = value;
  findings.push(...missing(value, [], ["name"]));
  if (config !== undefined) findings.push(...checkShape(config, ["config"], CONFIG));
  const items = Array.isArray(additional) ? additional : [];
  if (items.length > LIMITS.items) {
    const reason = `has ${items.length} items; ${LIMITS.items} is the most`;
    return [...findings, { path: ["additional"], reason }];
  }
  return [
    ...findings,
    ...items.flatMap((item, index) => checkItemText(item, ["additional", index])),
  ];
}

function checkItemText(item: unknown, path: JsonPath): Finding[] {
  if (isObject(item) && Object.hasOwn(item, "use")) return checkShape(item, path, USED_ITEM);
  const findings = checkShape(item, path, OWN_ITEM);
  return isObject(item) ? [...findings, ...missing(item, path, ["name", "type"])] : findings;
}

/** Findings about the form of the shared or the common items: an object, name to item. */
export function checkItemsByName(value: unknown): Finding[] {
  if (!isObject(value)) return [{ path: [], reason: `must be an object, not ${kindOf(value)}` }];
  return Object.entries(value).flatMap(([name, item]) => {
    const reason = freeName(name);
    if (reason !== undefined) return [{ path: [name], reason, atName: true }];
    const findings = checkShape(item, [name], SHARED_ITEM);
    return isObject(item) ? [...findings, ...missing(item, [name], ["type"])] : findings;
  });
}

function missing(value: object, path: JsonPath, names: readonly string[]): Finding[] {
  return names
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => ({ path: [...path, name], reason: "is missing" }));
}
