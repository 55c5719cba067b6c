import { FAMILIES, type Family } from "../config/family.ts";
import type { JsonPath } from "../files/json-source.ts";
import { isObject } from "../is-object.ts";
import { ITEM_TYPES, type ItemType } from "./driver-info.ts";
import { LIMITS } from "./limits.ts";
import type { Finding } from "./problem.ts";
import {
  type Check,
  checkShape,
  finiteNumber,
  flag,
  kindOf,
  oneOf,
  type Shape,
  textLike,
  textUpTo,
} from "./shape.ts";

/** Item of a driver file: a complete definition, or a shared item with changes. */
export interface ItemText {
  readonly use?: string;
  readonly name?: string;
  readonly type?: ItemType;
  readonly default?: string;
  readonly options?: string;
  readonly required?: boolean;
  readonly label?: string;
  readonly help?: string;
  readonly legacy_help?: boolean;
  readonly secret?: boolean;
  readonly destination?: boolean;
  readonly show_when?: string;
  readonly required_unless?: string;
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  readonly families?: readonly Family[];
  readonly variants?: Variants<ItemVariant>;
}

/** Members that differ in a family, by family. */
type Variants<T> = Readonly<Partial<Record<Family, T>>>;

type ItemVariant = Pick<ItemText, "type" | "default" | "options" | "required" | "legacy_help">;

interface DriverVariant {
  readonly config?: ConfigText;
  /** Names of the family's items, in the order of its form. Absent: the order of the file. */
  readonly order?: readonly string[];
}

/** A shared item; `from_default_root`: default and required follow the driver's default_root. */
export interface SharedItemText extends Omit<ItemText, "use" | "name" | "type"> {
  readonly type: ItemType;
  readonly from_default_root?: boolean;
}

export interface ConfigText {
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
}

/** Driver file. `src/data/driver.schema.json` is the equivalent schema for editors. */
export interface DriverText {
  readonly name: string;
  readonly label?: string;
  readonly guide?: string;
  readonly families?: readonly Family[];
  /** Offered for every family, because the contract's source version has the driver. */
  readonly in_contract?: boolean;
  readonly config?: ConfigText;
  readonly variants?: Variants<DriverVariant>;
  readonly no_link_url?: boolean;
  readonly proxy_range?: boolean;
  readonly additional?: readonly ItemText[];
}

// At least one letter: JavaScript objects reorder members whose names are whole numbers.
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

/** Names that JavaScript objects inherit would be found although no such item exists. */
const RESERVED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));

const freeName = (value: unknown) =>
  itemName(value) ??
  (RESERVED.has(value as string) ? "is a reserved name: choose another one" : undefined);

const families: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((name) => FAMILIES.includes(name))
    ? undefined
    : `must be a list of ${FAMILIES.join(", ")}`;

const ITEM_FACTS: Shape = {
  type: oneOf(ITEM_TYPES),
  default: textUpTo(LIMITS.defaultText),
  options: textUpTo(LIMITS.options),
  required: flag,
  label: textUpTo(LIMITS.name),
  help: textUpTo(LIMITS.help),
  legacy_help: flag,
  secret: flag,
  destination: flag,
  show_when: textLike(/^[A-Za-z]\w*=/, LIMITS.condition, "must have the form item=value|value"),
  required_unless: textLike(
    /^[A-Za-z]\w*(?:,[A-Za-z]\w*)*$/,
    LIMITS.condition,
    "must have names of items, separated by commas",
  ),
  min: finiteNumber,
  max: finiteNumber,
  unit: textUpTo(LIMITS.name),
  families,
  // Checked family by family below.
  variants: () => undefined,
};

const VARIANT: Shape = {
  type: oneOf(ITEM_TYPES),
  default: textUpTo(LIMITS.defaultText),
  options: textUpTo(LIMITS.options),
  required: flag,
  legacy_help: flag,
};

const itemNames: Check = (value) =>
  Array.isArray(value) &&
  value.length <= LIMITS.items &&
  value.every((name) => itemName(name) === undefined)
    ? undefined
    : `must be a list of item names, ${LIMITS.items} at most`;

const DRIVER_VARIANT: Shape = {
  // Checked member by member below.
  config: () => undefined,
  order: itemNames,
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
    /^$|^(?:info|success|warning|danger)\|.*\S/s,
    LIMITS.help,
    "must have the form level|text, with level info, success, warning or danger",
  ),
  only_indices: flag,
  prefer_proxy: flag,
};

const DRIVER: Shape = {
  $schema: textUpTo(LIMITS.help),
  name: driverName,
  label: textUpTo(LIMITS.name),
  guide: textLike(/^https:\/\/[^\s<>"]+$/, LIMITS.help, "must be an address with https://"),
  families,
  in_contract: flag,
  // These are checked member by member below.
  config: () => undefined,
  variants: () => undefined,
  additional: (value) =>
    Array.isArray(value) ? undefined : `must be an array, not ${kindOf(value)}`,
  no_link_url: flag,
  proxy_range: flag,
};

/** Checks the structure of a driver file. No findings: it is a DriverText. */
export function checkDriverText(value: unknown): Finding[] {
  const findings = checkShape(value, [], DRIVER);
  if (!isObject(value)) return findings;
  const { config, additional } = value;
  findings.push(...missing(value, [], ["name"]));
  if (config !== undefined) findings.push(...checkShape(config, ["config"], CONFIG));
  findings.push(
    ...checkVariants(value, [], (variant, path) => [
      ...checkShape(variant, path, DRIVER_VARIANT),
      ...(isObject(variant)
        ? checkShape(variant["config"] ?? {}, [...path, "config"], CONFIG)
        : []),
    ]),
  );
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
  if (!isObject(item)) return checkShape(item, path, OWN_ITEM);
  const used = Object.hasOwn(item, "use");
  const findings = checkShape(item, path, used ? USED_ITEM : OWN_ITEM);
  if (!used) findings.push(...missing(item, path, ["name", "type"]));
  findings.push(...checkVariants(item, path, (variant, at) => checkShape(variant, at, VARIANT)));
  return findings;
}

function checkVariants(
  { variants }: Record<string, unknown>,
  path: JsonPath,
  check: (variant: unknown, path: JsonPath) => Finding[],
): Finding[] {
  if (variants === undefined) return [];
  const at = [...path, "variants"];
  const known = Object.fromEntries(FAMILIES.map((family) => [family, () => undefined]));
  const findings = checkShape(variants, at, known);
  if (findings.length > 0 || !isObject(variants)) return findings;
  return Object.entries(variants).flatMap(([family, variant]) => check(variant, [...at, family]));
}

/** Checks the structure of the shared or the common items: an object of items by name. */
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
