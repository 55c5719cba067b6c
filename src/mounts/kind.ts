import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Scalar } from "../drivers/item-value.ts";
import type { KindRules, Parts } from "../ledger/kind.ts";
import type { StoredChange, StoredRecord } from "../ledger/store.ts";
import { setOwn } from "../own-value.ts";
import { siteKind } from "../records/kind.ts";
import { recordRules } from "../records/ledger-rules.ts";
import { partOf, placeOf } from "../records/secret-place.ts";
import { attributesOnSites } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import {
  type Mount,
  NO_OVERRIDE,
  type Override,
  secretField,
  type Values,
  withoutSite,
} from "./mount.ts";
import { isSecretItem } from "./secret-item.ts";
import { readBody, type StoredMount } from "./stored.ts";
import { MOUNT_TEXTS } from "./text.ts";

/** Mounts as records of sites. */
export const SITE_MOUNTS = siteKind<Mount>({
  noun: "mount",
  plural: "mounts",
  keyField: "name",
  pathField: "mount_path",
  keyOf: ({ name }) => name,
  withoutSite,
  secretField,
  missingOf: ({ missing }) => missing,
  blindIn: (body) => readBody(body).blind ?? [],
  texts: MOUNT_TEXTS,
});

/** Mounts in the ledger, by name. */
export const MOUNTS = SITE_MOUNTS.token;

/** Reports whether a change is that of a mount. */
export function isMountChange({ kind }: Pick<StoredChange, "kind">): boolean {
  return kind === MOUNTS.name;
}

export interface MountRulesDeps {
  /** Drivers, which mark secret items; all items of unknown drivers are secret. */
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Names of sites, for the audit. */
  readonly sites: () => Pick<SiteNames, "nameOf">;
}

/** Rules of mounts in the ledger. */
export function mountRules({ driverOf, sites }: MountRulesDeps): KindRules<Mount> {
  return recordRules(SITE_MOUNTS, {
    encode: (mount) => partsOf(mount, driverOf(mount.driver)),
    decode: mountOf,
    sites,
  });
}

function partsOf(all: Mount, driver: DriverInfo | undefined): Parts {
  const { name: _name, revision: _revision, missing, ...mount } = all;
  const secrets: [string, string][] = [];
  const open = (items: Values, site: string): Values => {
    const kept: Record<string, Scalar> = {};
    for (const [item, value] of Object.entries(items))
      if (isSecretItem(driver, item)) secrets.push([partOf({ site, item }), JSON.stringify(value)]);
      else setOwn(kept, item, value);
    return kept;
  };
  const stored: StoredMount = {
    ...mount,
    items: open(mount.items, ""),
    overrides: Object.fromEntries(
      Object.entries(mount.overrides).map(([site, override]) => [
        site,
        { ...override, items: open(override.items, site) },
      ]),
    ),
    ...(missing.length > 0 && { missing }),
  };
  return {
    body: JSON.stringify(stored),
    attributes: JSON.stringify(attributesOnSites(all)),
    secrets: Object.fromEntries(secrets),
  };
}

function mountOf({ key, body, secrets, revision }: StoredRecord): Mount {
  const stored = readBody(body ?? "{}");
  const items: Record<string, Scalar> = { ...stored.items };
  const overrides: Record<string, Override> = { ...stored.overrides };
  for (const [part, text] of Object.entries(secrets)) {
    const { site, item } = placeOf(part);
    const value = JSON.parse(text) as Scalar;
    if (site === "") {
      setOwn(items, item, value);
      continue;
    }
    const before = overrides[site] ?? NO_OVERRIDE;
    const own: Record<string, Scalar> = { ...before.items };
    setOwn(own, item, value);
    overrides[site] = { ...before, items: own };
  }
  return Object.freeze({ ...stored, name: key, items, overrides, revision });
}

/** Mounts of a snapshot by name, sorted. */
export const mountsByName = SITE_MOUNTS.byKey;

/** Mounts of a draft by name, sorted. */
export const draftMounts = SITE_MOUNTS.ofDraft;
