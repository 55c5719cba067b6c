import { FAMILIES } from "../config/family.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { message, type Text } from "../messages/message.ts";
import { isOnSite } from "../sites/site-choice.ts";
import { type Mount, wantedOn } from "./mount.ts";

/** A site with its detected family: openlist, alist, or another word while it is not known. */
export interface SiteFamily {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/**
 * Warnings about sites of a family that does not have the driver of a mount, or items that it sets.
 * Such a site refuses the mount, or ignores the items.
 */
export function familyWarnings(
  mount: Mount,
  driver: DriverInfo | undefined,
  sites: readonly SiteFamily[],
): Text[] {
  if (driver === undefined) return [];
  const known = sites.filter(
    ({ id, kind }) => isOnSite(mount, id) && FAMILIES.some((family) => family === kind),
  );
  return known.flatMap(({ id, name: site, kind }): Text[] => {
    const lacks = ({ families }: { readonly families: readonly string[] }): boolean =>
      families.length > 0 && !families.includes(kind);
    if (lacks(driver)) return [message("DRIVER_NOT_ON_SITE", { site, kind, driver: mount.driver })];
    const { items } = wantedOn(mount, id);
    const unknown = driver.additional.filter((item) => lacks(item) && isSet(items[item.name]));
    if (unknown.length === 0) return [];
    const names = unknown.map(({ name }) => `config.${name}`).join(", ");
    return [message("ITEMS_NOT_ON_SITE", { site, kind, items: names })];
  });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== "" && value !== false && value !== 0;
}
