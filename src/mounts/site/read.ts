import { COMMON_NAMES } from "../../drivers/common-items.ts";
import type { DriverInfo, ItemType } from "../../drivers/driver-info.ts";
import { type Scalar, scalarOf } from "../../drivers/item-value.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import { type Addition, plainValue, readAddition, type StorageRow } from "./row.ts";

/** Values of a row, for a mount. */
export interface RowValues {
  readonly path: string;
  readonly driver: string;
  readonly items: Readonly<Record<string, Scalar>>;
  readonly members: Readonly<Record<string, Scalar>>;
  readonly disabled: boolean;
  /**
   * Items and members of the form whose value has another type, such as `config.size`. A server
   * cannot read such a value either.
   */
  readonly leftOut: readonly string[];
}

/** Types of the members that a row of any driver has. */
const MEMBER_TYPES: Readonly<Record<string, ItemType>> = {
  order: "number",
  cache_expiration: "number",
  web_proxy: "bool",
  proxy_range: "bool",
  disable_proxy_sign: "bool",
  down_proxy_sign: "bool",
  disable_index: "bool",
  enable_sign: "bool",
};
/** Members of a row that a mount has as values. */
export const VALUE_MEMBERS: ReadonlySet<string> = new Set(
  COMMON_NAMES.filter((name) => name !== "mount_path"),
);

/**
 * Reads the values of a row as the server has them; undefined when its addition is not a JSON
 * object. Values that the form of the driver would refuse are kept, such as an absent required item.
 */
export function readMount(row: StorageRow, driver: DriverInfo | undefined): RowValues | undefined {
  const addition = readAddition(row.addition);
  if (addition === undefined) return undefined;
  const form = new Map(driver?.additional.map(({ name, type }) => [name, type]));
  const names = driver === undefined ? Object.keys(addition) : [...form.keys()];
  const offered = new Set(driver?.common.map(({ name }) => name));
  const leftOut: string[] = [];
  const read = (
    place: string,
    values: Addition,
    some: Iterable<string>,
    typeOf: (name: string) => ItemType | undefined,
  ): Record<string, Scalar> => {
    const found: Record<string, Scalar> = {};
    for (const name of some) {
      const given = Object.hasOwn(values, name) ? values[name] : undefined;
      if (given === undefined || given === null) continue;
      const type = typeOf(name);
      const value = type === undefined ? plainScalar(given) : scalarOf(plainValue(given, 0), type);
      if (value !== undefined) setOwn(found, name, value);
      else leftOut.push(`${place}${name}`);
    }
    return found;
  };
  // Members that the form lacks, such as `cache_expiration` of Local, have the server's value for an
  // absent member unless they were set.
  const isSet = (name: string): boolean =>
    offered.has(name) || ![undefined, null, 0, "", false].includes(ownValue(row, name) as null);
  return {
    path: row.mount_path,
    driver: row.driver,
    // Other members of the addition stay on the site.
    items: read("config.", addition, names, (name) => form.get(name)),
    members: read(
      "",
      row,
      [...VALUE_MEMBERS].filter(isSet),
      (name) => ownValue(MEMBER_TYPES, name) ?? "string",
    ),
    disabled: row.disabled,
    leftOut,
  };
}

function plainScalar(value: unknown): Scalar | undefined {
  const plain = plainValue(value, 0);
  const isScalar = ["string", "number", "boolean"].includes(typeof plain);
  return isScalar ? (plain as Scalar) : undefined;
}
