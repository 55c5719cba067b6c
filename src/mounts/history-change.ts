import type { ItemChange, RecordChange } from "../history/kind.ts";
import type { StoredChange } from "../ledger/store.ts";
import { mountKey, readMountKey } from "../settings/mount-key.ts";
import { MASK } from "../settings/value.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { missingFields, readStored, siteNamesOf, type Values } from "./mount.ts";

/** Names of sites for the history: those of sites that were removed are unknown. */
export type HistorySites = Pick<SiteNames, "nameOf">;

/** Name that is shown for a site that was removed. */
const REMOVED = "removed";

function shownName({ nameOf }: HistorySites, id: string): string {
  return nameOf(id) || REMOVED;
}

/** Name of a stored key in the audit, with the name of a site in place of its id. */
export function showMountKey(key: string, sites: HistorySites): string {
  const place = readMountKey(key);
  if (place?.site === undefined) return key;
  return mountKey(place.name, place.item, shownName(sites, place.site));
}

/** Change of one mount, item by item. @param changes of the mount itself and of its secrets. */
export function describeMountChange(
  name: string,
  changes: readonly StoredChange[],
  sites: HistorySites,
): RecordChange {
  const whole = changes.find(({ key }) => readMountKey(key)?.item === undefined);
  const before = itemsOf(whole?.oldBody, sites);
  const after = itemsOf(whole?.newBody, sites);
  const open = [...new Set([...before.keys(), ...after.keys()])].flatMap((item): ItemChange[] => {
    const [oldValue, newValue] = [before.get(item), after.get(item)];
    return oldValue === newValue ? [] : [{ name: item, oldValue, newValue, secret: false }];
  });
  const secrets = changes.flatMap(({ key, oldHash, newHash }): ItemChange[] => {
    const { item, site = "" } = readMountKey(key) ?? {};
    if (item === undefined) return [];
    const [field = item] = missingFields(
      { missing: [{ item, site }] },
      { nameOf: (id) => shownName(sites, id) },
    );
    const mask = (hash: string | null) => (hash === null ? undefined : MASK);
    return [{ name: field, oldValue: mask(oldHash), newValue: mask(newHash), secret: true }];
  });
  return {
    key: mountKey(name),
    kind:
      whole === undefined
        ? "changed"
        : whole.oldBody === null
          ? "added"
          : whole.newBody === null
            ? "deleted"
            : "changed",
    secret: false,
    items: [...open, ...secrets],
  };
}

/** Items of a mount as text, by name, without its secrets. */
function itemsOf(
  stored: string | null | undefined,
  sites: HistorySites,
): ReadonlyMap<string, string> {
  const items = new Map<string, string>();
  if (stored === null || stored === undefined) return items;
  const mount = readStored(stored);
  const nameOf = (id: string): string => shownName(sites, id);
  const addAll = (prefix: string, values: Values): void => {
    for (const [item, value] of Object.entries(values)) items.set(`${prefix}.${item}`, `${value}`);
  };
  const names = siteNamesOf(mount, { nameOf });
  items.set("mount_path", mount.path);
  items.set("driver", mount.driver);
  items.set("disabled", String(mount.disabled));
  items.set("content", mount.content);
  items.set("sites", names === "all" ? names : names.length === 0 ? "none" : names.join(", "));
  addAll("config", mount.items);
  addAll("members", mount.members);
  for (const [site, { path, items: own, members }] of Object.entries(mount.overrides)) {
    const place = `overrides.${nameOf(site)}`;
    if (path !== "") items.set(`${place}.mount_path`, path);
    addAll(`${place}.config`, own);
    addAll(`${place}.members`, members);
  }
  const missing = missingFields(mount, { nameOf });
  if (missing.length > 0) items.set("missing", missing.join(", "));
  return items;
}
