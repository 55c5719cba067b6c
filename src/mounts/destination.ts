import type { ConfigItem, DriverInfo } from "../drivers/driver-info.ts";
import { defaultOf } from "../drivers/item-value.ts";
import type { Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { Mount, Values } from "./mount.ts";
import { isCredential } from "./site/item-kind.ts";
import type { Addition, WantedMount } from "./site/row.ts";

/** A secret item of a mount: `site` undefined for the mount itself, else the site's override. */
interface Place {
  readonly item: string;
  /** Id of the site. */
  readonly site: string | undefined;
}

/** Items that decide where a driver sends its secrets. */
function destinationItems(driver: DriverInfo): readonly ConfigItem[] {
  return driver.additional.filter(({ destination }) => destination);
}

/** Reports whether an item has a secret that the driver sends: it is marked, or refreshed. */
export function isSentSecret(driver: DriverInfo, name: string): boolean {
  const item = driver.additional.find((each) => each.name === name);
  return item === undefined || item.secret || isCredential(driver.config.name, name);
}

/**
 * Secrets that a save leaves unchanged and sends to a destination that did not get them before: a
 * site, with the items that decide where the driver connects to. Otherwise a caller who may not read
 * them could have them sent to another server.
 *
 * @param given secrets that the caller sent: it knows them.
 * @param sites all sites.
 * @returns a violation for each, below `field`.
 */
export function redirectedSecrets(
  {
    before,
    mount,
    given,
  }: {
    readonly before: Mount;
    readonly mount: Mount;
    readonly given: readonly Place[];
  },
  {
    driver,
    sites,
    field,
  }: {
    readonly driver: DriverInfo;
    readonly sites: Pick<SiteNames, "ids" | "nameOf">;
    readonly field: string;
  },
): Violation[] {
  const reachedBefore = reaches(before, driver, sites.ids);
  const changed = changedDestinations(before, mount, driver);
  return [...reaches(mount, driver, sites.ids)].flatMap(([key, destinations]) => {
    const [item = "", site] = JSON.parse(key) as [string, string?];
    if (given.some((each) => each.item === item && each.site === site)) return [];
    const known = reachedBefore.get(key);
    if ([...destinations].every((each) => known?.has(each) === true)) return [];
    const place =
      site === undefined ? `config.${item}` : `overrides.${sites.nameOf(site)}.config.${item}`;
    const at = `${field}${place}`;
    return {
      field: at,
      description: message("SECRET_REDIRECTED", { field: at, by: changed.join(", ") }),
    };
  });
}

/** Destinations of each secret with a value, by its place. */
function reaches(
  mount: Mount,
  driver: DriverInfo,
  siteIds: readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const reached = new Map<string, Set<string>>();
  // The mount itself also without sites: a site may be added later.
  const sites = ["", ...siteIds.filter((site) => isOnSite(mount, site))];
  for (const site of sites) {
    const own = mount.overrides[site]?.items ?? {};
    const items = { ...mount.items, ...own };
    const destination = JSON.stringify([site, ...destinationValues(driver, items)]);
    for (const [item, value] of Object.entries(items)) {
      if (value === "" || !isSentSecret(driver, item)) continue;
      const key = JSON.stringify(Object.hasOwn(own, item) ? [item, site] : [item]);
      const destinations = reached.get(key) ?? new Set();
      reached.set(key, destinations.add(destination));
    }
  }
  return reached;
}

function destinationValues(driver: DriverInfo, items: Values): unknown[] {
  return destinationItems(driver).map(
    (item) => ownValue(items, item.name) ?? defaultOf(item) ?? "",
  );
}

/** Names of the items that differ; `sites` when only the assignment to sites does. */
function changedDestinations(before: Mount, after: Mount, driver: DriverInfo): readonly string[] {
  const valuesOf = ({ items, overrides }: Mount, name: string): string =>
    JSON.stringify([
      ownValue(items, name),
      Object.entries(overrides).map(([site, own]) => [site, ownValue(own.items, name)]),
    ]);
  const names = destinationItems(driver)
    .map(({ name }) => name)
    .filter((name) => valuesOf(before, name) !== valuesOf(after, name));
  return names.length === 0 ? ["sites"] : names;
}

/** Secrets of a site's row that the mount does not have. */
export interface OwnSecrets {
  /** Whether the update changes the destination of secrets. */
  readonly moves: boolean;
  /** Items that an update would leave unchanged. */
  readonly kept: readonly string[];
  /** Items that the server fills in again. */
  readonly refreshed: readonly string[];
}

export const NO_SECRETS: OwnSecrets = { moves: false, kept: [], refreshed: [] };

/**
 * Secrets that only the site's row has and that an update of it would send to another destination.
 *
 * @param push names of items that the update changes.
 */
export function ownSecretsOf(
  mount: Pick<WantedMount, "driver" | "items">,
  addition: Addition,
  push: readonly string[],
  driver: DriverInfo | undefined,
): OwnSecrets {
  const moves =
    driver !== undefined && destinationItems(driver).some(({ name }) => push.includes(name));
  if (!moves) return NO_SECRETS;
  const own = Object.entries(addition).flatMap(([name, value]) =>
    value !== "" && typeof value === "string" && !Object.hasOwn(mount.items, name) ? [name] : [],
  );
  return {
    moves,
    kept: own.filter(
      (name) =>
        !isCredential(mount.driver, name) &&
        driver.additional.some((item) => item.name === name && item.secret),
    ),
    refreshed: own.filter((name) => isCredential(mount.driver, name)),
  };
}
