import type { ArchiveEntry, SecretValue } from "../../archive/part.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { setOwn } from "../../own-value.ts";
import { overridesByName, siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { Mount, Values } from "../mount.ts";
import { isSecretItem } from "../secret-item.ts";
import { uncheckedValues } from "../value-problem.ts";

/**
 * Converts a mount to an entry of an archive.
 *
 * @param options.isShown whether the entry has the values of secrets; otherwise only their names.
 */
export function mountToEntry(
  mount: Mount,
  {
    sites,
    driverOf,
    isShown,
  }: {
    readonly sites: SiteNames;
    readonly driverOf: (name: string) => DriverInfo | undefined;
    readonly isShown: boolean;
  },
): ArchiveEntry {
  const { name, path, driver, disabled, content, items, members } = mount;
  const form = driverOf(driver);
  const secrets: Record<string, SecretValue> = {};
  const missing = mount.missing.flatMap(({ site, item }) => {
    const own = sites.nameOf(site);
    return site !== "" && own === "" ? [] : [secretName(item, own)];
  });
  const open = (values: Values, site = ""): Values => {
    const shown: Record<string, Scalar> = {};
    for (const [item, value] of Object.entries(values)) {
      if (!isSecretItem(form, item) || value === "") setOwn(shown, item, value);
      else if (isShown) secrets[secretName(item, site)] = value;
      else missing.push(secretName(item, site));
    }
    return shown;
  };
  const chosen = siteNamesOf(mount, sites);
  const overrides = overridesByName(mount, sites).map(([site, own]) => [
    site,
    {
      ...(own.path !== "" && { path: own.path }),
      config: open(own.items, site),
      members: own.members,
    },
  ]);
  const unchecked = form === undefined ? {} : uncheckedValues(mount, form, sites);
  return {
    name,
    content: {
      path,
      driver,
      disabled,
      content,
      sites: chosen.length === 0 ? "none" : chosen,
      config: open(items),
      members,
      ...(overrides.length > 0 && { overrides: Object.fromEntries(overrides) }),
      ...(Object.keys(unchecked).length > 0 && { unchecked }),
    },
    secrets,
    missing,
    isSealed: false,
  };
}

/** Name of a secret in an entry. Names of sites have no slash. */
export function secretName(item: string, site: string): string {
  return site === "" ? `config/${item}` : `overrides/${site}/config/${item}`;
}
