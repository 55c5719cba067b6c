import type { Grant } from "../access/grant.ts";
import type { Scalar } from "../drivers/item-value.ts";
import type { Draft } from "../ledger/draft.ts";
import { memoize } from "../memoize.ts";
import { setOwn } from "../own-value.ts";
import type { SettingItem } from "../settings/item.ts";
import { MOUNTS, mountItem, mountKey, readMountKey } from "../settings/mount-key.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { type BlindItem, blindOn } from "./blind.ts";
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

/** Secret item without its value: the history and exported documents contain no secrets. */
export interface MissingItem {
  /** Id of the site whose override had it; empty: the mount itself. */
  readonly site: string;
  readonly item: string;
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
  readonly siteIds: "all" | readonly string[];
  /** By the site's id. */
  readonly overrides: Readonly<Record<string, Override>>;
  /** Revision in which a user last set, for all sites, an item that they refresh; 0: none. */
  readonly credentialRevision: number;
  /** Secrets set by callers who may not read them; absent: none. */
  readonly blind?: readonly BlindItem[];
  /** Secret items without their values. A mount is not sent to sites that need one of them. */
  readonly missing: readonly MissingItem[];
  /** Revision of the last change. */
  readonly revision: number;
}

/** Content of a mount's row: everything but its name, its secrets and its revision. */
type Stored = Omit<Mount, "name" | "revision" | "missing"> & {
  /** Absent: none. */
  readonly missing?: Mount["missing"];
};

/** Reads the value of a mount's row; its secrets have rows of their own. */
export function readStored(value: string): Omit<Mount, "name" | "revision"> {
  const stored = JSON.parse(value) as Stored;
  return { ...stored, missing: stored.missing ?? [] };
}

/** Reads all mounts from their rows, by name. */
export function readMounts(rows: Iterable<SettingItem>): ReadonlyMap<string, Mount> {
  const secrets = new Map<string, SettingItem[]>();
  const mounts: [string, SettingItem][] = [];
  for (const row of rows) {
    const place = readMountKey(row.key);
    if (place === undefined) continue;
    if (place.item === undefined) mounts.push([place.name, row]);
    else {
      const of = secrets.get(place.name) ?? [];
      of.push(row);
      secrets.set(place.name, of);
    }
  }
  mounts.sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(mounts.map(([name, row]) => [name, mountOf(name, row, secrets.get(name) ?? [])]));
}

/** Mounts by name, with an index of their paths on any site. */
export class MountIndex extends Map<string, Mount> {
  readonly #names = new Map<string, Set<string>>();

  constructor(mounts: Iterable<readonly [string, Mount]>) {
    super();
    for (const [name, mount] of mounts) this.set(name, mount);
  }

  override set(name: string, mount: Mount): this {
    this.delete(name);
    for (const path of pathsOf(mount)) addTo(this.#names, path, name);
    return super.set(name, mount);
  }

  override delete(name: string): boolean {
    const before = this.get(name);
    if (before !== undefined)
      for (const path of pathsOf(before)) this.#names.get(path)?.delete(name);
    return super.delete(name);
  }

  /** Mounts that have one of the paths on a site. */
  at(paths: readonly string[]): readonly Mount[] {
    const names = new Set(paths.flatMap((path) => [...(this.#names.get(path) ?? [])]));
    return [...names].flatMap((name) => this.get(name) ?? []);
  }
}

/** Paths of a mount on all sites. */
export function pathsOf({ path, overrides }: Mount): string[] {
  return [path, ...Object.values(overrides).flatMap(({ path: own }) => (own === "" ? [] : [own]))];
}

/** Reports whether the limits of a grant permit a mount, with its paths on all sites. */
export function isAllowed({ allowsMount }: Pick<Grant, "allowsMount">, mount: Mount): boolean {
  return pathsOf(mount).every(allowsMount);
}

/** All mounts of a draft, by name. */
export function draftMounts(draft: Draft): MountIndex {
  const rows = [...draft.keys(MOUNTS)].flatMap((key) => draft.get(MOUNTS, key) ?? []);
  return new MountIndex(readMounts(rows));
}

/** Reads one mount from a draft. */
export function readDraftMount(draft: Draft, name: string): Mount | undefined {
  const row = draft.get(MOUNTS, mountKey(name));
  return row && mountOf(name, row, secretRows(draft, name));
}

/** Keys of the secret items of a draft's mounts, by the names of the mounts; some may be deleted. */
const secretKeys = memoize((draft: Draft) => {
  const keys = new Map<string, Set<string>>();
  for (const key of draft.keys(MOUNTS)) {
    const place = readMountKey(key);
    if (place?.item !== undefined) addTo(keys, place.name, key);
  }
  return keys;
});

function addTo(sets: Map<string, Set<string>>, name: string, value: string): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([value]));
  else set.add(value);
}

function secretRows(draft: Draft, name: string): SettingItem[] {
  return [...(secretKeys(draft).get(name) ?? [])].flatMap((key) => draft.get(MOUNTS, key) ?? []);
}

/** Mounts by their rows, which are the same objects until they change. */
const known = new WeakMap<
  SettingItem,
  { readonly name: string; readonly secrets: readonly SettingItem[]; readonly mount: Mount }
>();

/** @returns the same object for the same rows. */
function mountOf(name: string, row: SettingItem, secrets: readonly SettingItem[]): Mount {
  const before = known.get(row);
  const isSame =
    before?.name === name &&
    before.secrets.length === secrets.length &&
    secrets.every((secret, at) => before.secrets[at] === secret);
  if (isSame) return before.mount;
  const mount = readMount(name, row, secrets);
  known.set(row, { name, secrets, mount });
  return mount;
}

function readMount(name: string, row: SettingItem, secrets: readonly SettingItem[]): Mount {
  const stored = readStored(row.value);
  const items: Record<string, Scalar> = { ...stored.items };
  const overrides: Record<string, Override> = { ...stored.overrides };
  let { revision } = row;
  for (const secret of secrets) {
    const { site, item = "" } = readMountKey(secret.key) ?? { site: undefined };
    const value = JSON.parse(secret.value) as Scalar;
    revision = Math.max(revision, secret.revision);
    if (site === undefined) setOwn(items, item, value);
    else {
      const before = overrides[site] ?? EMPTY;
      overrides[site] = { ...before, items: { ...before.items, [item]: value } };
    }
  }
  return Object.freeze({ ...stored, name, items, overrides, revision });
}

const EMPTY: Override = { path: "", items: {}, members: {} };

/**
 * Writes a mount, its secret items into rows of their own.
 *
 * @param isSecret whether an item of its driver is secret.
 * @param given keys of secret rows that always count as changed: the caller must not learn whether
 *   the sent value equals the stored one.
 * @returns whether it is a change.
 */
export function writeMount(
  draft: Draft,
  { name, revision: _revision, missing, ...mount }: Mount,
  isSecret: (item: string) => boolean,
  given: ReadonlySet<string> = new Set(),
): boolean {
  const secrets = new Map<string, Scalar>();
  const split = (items: Values, site?: string): Values => {
    const open: Record<string, Scalar> = {};
    for (const [item, value] of Object.entries(items))
      if (isSecret(item)) secrets.set(mountKey(name, item, site), value);
      else setOwn(open, item, value);
    return open;
  };
  const overrides = Object.fromEntries(
    Object.entries(mount.overrides).map(([site, override]) => [
      site,
      { ...override, items: split(override.items, site) },
    ]),
  );
  const stored: Stored = {
    ...mount,
    items: split(mount.items),
    overrides,
    ...(missing.length > 0 && { missing }),
  };
  let isChange = draft.put(MOUNTS, mountItem(mountKey(name), JSON.stringify(stored), false));
  for (const row of secretRows(draft, name))
    if (!secrets.has(row.key)) isChange = draft.delete(MOUNTS, row.key) || isChange;
  for (const [key, value] of secrets) {
    const item = mountItem(key, JSON.stringify(value), true);
    isChange = draft.put(MOUNTS, item, given.has(key)) || isChange;
    addTo(secretKeys(draft), name, key);
  }
  return isChange;
}

/** Deletes a mount with its secrets. */
export function deleteMount(draft: Draft, name: string): void {
  for (const row of secretRows(draft, name)) draft.delete(MOUNTS, row.key);
  draft.delete(MOUNTS, mountKey(name));
}

/** Reports whether a mount is assigned to a site. */
export function isOnSite({ siteIds }: Pick<Mount, "siteIds">, siteId: string): boolean {
  return siteIds === "all" || siteIds.includes(siteId);
}

/** Names of a mount's sites, as clients give them. */
export function siteNamesOf(
  { siteIds }: Pick<Mount, "siteIds">,
  { nameOf }: Pick<SiteNames, "nameOf">,
): "all" | readonly string[] {
  return siteIds === "all" ? "all" : siteIds.map(nameOf).filter((name) => name !== "");
}

/** A mount's overrides by the names of their sites. */
export function overridesByName(
  { overrides }: Pick<Mount, "overrides">,
  { nameOf }: Pick<SiteNames, "nameOf">,
): readonly (readonly [name: string, override: Override])[] {
  return Object.entries(overrides)
    .map(([id, override]) => [nameOf(id), override] as const)
    .filter(([name]) => name !== "");
}

/** Path of a mount on a site. */
export function pathOn(
  { path, overrides }: Pick<Mount, "path" | "overrides">,
  siteId: string,
): string {
  return overrides[siteId]?.path || path;
}

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
  return missing.map(({ site, item }) =>
    site === "" ? `config.${item}` : `overrides.${nameOf(site)}.config.${item}`,
  );
}

/** Desired mount on a site. */
export function wantedOn(mount: Mount, siteId: string): WantedMount {
  const { name, driver, disabled, content, revision } = mount;
  const override = mount.overrides[siteId] ?? EMPTY;
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

/** Desired mounts of a site. */
export function wantedMounts(
  mounts: ReadonlyMap<string, Mount>,
  site: Pick<Site, "id">,
): readonly WantedMount[] {
  return [...mounts.values()]
    .filter((mount) => isOnSite(mount, site.id))
    .map((mount) => wantedOn(mount, site.id));
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
