import type { DriverInfo } from "../drivers/driver-info.ts";
import { itemKind } from "./site/item-kind.ts";

/** Reports whether an item is a secret: never shown, and stored in a row of its own. */
export function isSecretItem(driver: DriverInfo | undefined, name: string): boolean {
  if (driver === undefined) return true;
  const item = driver.additional.find((each) => each.name === name);
  return item === undefined || item.secret || itemKind(driver.config.name, name) === "learned";
}
