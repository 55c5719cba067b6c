import { ownValue } from "../../own-value.ts";
import type { Values } from "../mount.ts";
import { itemKind } from "../site/item-kind.ts";

/**
 * Reports whether an import keeps the value of an item here: servers refresh it, so that it is newer
 * than that of the source.
 *
 * @param stored values here; undefined: none.
 */
export function isRefreshedHere(driver: string, item: string, stored: Values | undefined): boolean {
  return (ownValue(stored, item) ?? "") !== "" && itemKind(driver, item) === "learned";
}
