import type { DriverInfo } from "../../drivers/driver-info.ts";
import { ownValue } from "../../own-value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { Mount, Values } from "../mount.ts";
import { isSecretItem } from "../secret-item.ts";
import { secretName } from "./entry.ts";

/** Two states of a mount, with the names of their differences as in `changedNames`. */
interface Change {
  readonly before: Mount;
  readonly after: Mount;
  readonly differs: readonly string[];
}

/**
 * Secrets of a mount that a change replaces or removes, named as in an archive.
 *
 * @param options.reveals whether the caller may learn if a secret of a site differs; otherwise each
 *   counts as replaced.
 */
export function replacedSecrets(
  { before, after, differs }: Change,
  {
    driverOf,
    nameOf,
    reveals,
  }: {
    readonly driverOf: (name: string) => DriverInfo | undefined;
    readonly nameOf: SiteNames["nameOf"];
    readonly reveals: boolean;
  },
): readonly string[] {
  const form = driverOf(before.driver);
  const secretsOf = (values: Values): readonly string[] =>
    Object.keys(values).filter((item) => isSecretItem(form, item) && values[item] !== "");
  const own = secretsOf(before.items).filter((item) => differs.includes(item));
  const ofSites = Object.entries(before.overrides).flatMap(([id, { items }]) => {
    const site = nameOf(id);
    if (!differs.includes(`overrides.${site}`)) return [];
    const left = after.overrides[id]?.items;
    const isReplaced = (item: string): boolean =>
      !reveals || ownValue(left, item) !== ownValue(items, item);
    return secretsOf(items).flatMap((item) => (isReplaced(item) ? [secretName(item, site)] : []));
  });
  return [...own.map((item) => secretName(item, "")), ...ofSites];
}
