import type { Scalar } from "../drivers/item-value.ts";
import type { BlindSecret, SecretPlace } from "../records/secret-place.ts";
import type { PathIndex } from "../sites/path-index.ts";
import { pathOn, type SiteIds } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { blindOn } from "./blind.ts";
import { itemKind } from "./site/item-kind.ts";
import type { WantedMount } from "./site/row.ts";

export type Values = Readonly<Record<string, Scalar>>;

/** Values that replace those of a mount on one site. */
export interface Override {
  /** Empty: the mount's. */
  readonly path: string;
  readonly items: Values;
  readonly members: Values;
  /** Revision in which a user last set an item that this site refreshes; absent: none. */
  readonly credentialRevision?: number;
}

/** Desired mount of sites, with secrets in the clear. */
export interface Mount {
  /** 1 to 64 letters and digits of any script, `.`, `_` and `-`, in NFC. Unique. */
  readonly name: string;
  /** As `cleanPath` returns it. */
  readonly path: string;
  readonly driver: string;
  /** The driver's items in the JSON types of the catalogue. */
  readonly items: Values;
  /** Members of the row, such as `order` and `remark`. */
  readonly members: Values;
  readonly disabled: boolean;
  readonly content: "adopt" | "overwrite";
  /** Ids of the sites that have it. `all`: also those that are created later. */
  readonly siteIds: SiteIds;
  /** By the site's id. */
  readonly overrides: Readonly<Record<string, Override>>;
  /** Revision in which a user last set, for all sites, an item that they refresh; 0: none. */
  readonly credentialRevision: number;
  /** Secrets set by callers who may not read them; absent: none. */
  readonly blind?: readonly BlindSecret[];
  /** Secret items without their values. A mount is not sent to sites that need one of them. */
  readonly missing: readonly SecretPlace[];
  /** Revision of the last change; 0: it is not stored. */
  readonly revision: number;
}

/** Mounts by name, with an index of their paths on any site. */
export type MountIndex = PathIndex<Mount>;

/** Values of a site that has none of its own. */
export const NO_OVERRIDE: Override = { path: "", items: {}, members: {} };

/** Items of a mount on a site whose values are missing, in the mount and in the site's override. */
export function missingOn(
  { missing, overrides }: Pick<Mount, "missing" | "overrides">,
  siteId: string,
): string[] {
  const own = overrides[siteId]?.items ?? {};
  const items = missing.flatMap((each) =>
    (each.site === "" || each.site === siteId) && !Object.hasOwn(own, each.item) ? [each.item] : [],
  );
  return [...new Set(items)];
}

/** Names of missing items in the notation of violations, such as `config.password`. */
export function missingFields(
  { missing }: Pick<Mount, "missing">,
  { nameOf }: Pick<SiteNames, "nameOf">,
): string[] {
  return missing.map((place) => secretField(place, { nameOf }));
}

/** Name of a secret item in the notation of violations, such as `overrides.home.config.password`. */
export function secretField(
  { site, item }: SecretPlace,
  { nameOf }: Pick<SiteNames, "nameOf">,
): string {
  return site === "" ? `config.${item}` : `overrides.${nameOf(site)}.config.${item}`;
}

/** Desired mount on a site. */
export function wantedOn(mount: Mount, siteId: string): WantedMount {
  const { name, driver, disabled, content, revision } = mount;
  const override = mount.overrides[siteId] ?? NO_OVERRIDE;
  // A new credential of the mount is not sent to a site with its own one.
  const hasOwn = Object.keys(override.items).some((item) => itemKind(driver, item) === "learned");
  const credentialRevision = hasOwn ? (override.credentialRevision ?? 0) : mount.credentialRevision;
  return {
    name,
    driver,
    disabled,
    content,
    revision,
    credentialRevision,
    blind: blindOn(mount.blind, siteId, override.items),
    path: pathOn(mount, siteId),
    items: { ...mount.items, ...override.items },
    members: { ...mount.members, ...override.members },
    missing: missingOn(mount, siteId),
  };
}

/** Removes a site from a mount, with the site's own values. A mount without sites stays on none. */
export function withoutSite(mount: Mount, siteId: string): Mount {
  const { [siteId]: _own, ...overrides } = mount.overrides;
  return {
    ...mount,
    siteIds: mount.siteIds === "all" ? "all" : mount.siteIds.filter((each) => each !== siteId),
    overrides,
    missing: mount.missing.filter(({ site }) => site !== siteId),
  };
}
