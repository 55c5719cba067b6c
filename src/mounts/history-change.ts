import type { ItemChange, RecordChange } from "../history/kind.ts";
import type { PartTexts, StoredChange } from "../ledger/store.ts";
import { MASK } from "../settings/value.ts";
import { siteNamesOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { missingFields, type Values } from "./mount.ts";
import { placeOf, readBody, shownItems } from "./stored.ts";
import { REMOVED, subjectOf } from "./subject.ts";

/** Names of sites for the history: those of sites that were removed are unknown. */
export type HistorySites = Pick<SiteNames, "nameOf">;

/** Name of a site, or `removed`. */
function shownName({ nameOf }: HistorySites, id: string): string {
  return nameOf(id) || REMOVED;
}

/** Change of a mount, item by item. */
export function describeMountChange(change: StoredChange, sites: HistorySites): RecordChange {
  const before = itemsOf(change.oldBody, sites);
  const after = itemsOf(change.newBody, sites);
  const open = [...new Set([...before.keys(), ...after.keys()])].flatMap((item): ItemChange[] => {
    const [oldValue, newValue] = [before.get(item), after.get(item)];
    return oldValue === newValue ? [] : [{ name: item, oldValue, newValue, secret: false }];
  });
  const mask = (hashes: PartTexts | null, part: string): string | undefined =>
    hashes !== null && Object.hasOwn(hashes, part) ? MASK : undefined;
  const secrets = shownItems(change).map((part): ItemChange => {
    const place = placeOf(part);
    const [name = place.item] = missingFields(
      { missing: [place] },
      { nameOf: (id) => shownName(sites, id) },
    );
    const [oldValue, newValue] = [mask(change.oldHashes, part), mask(change.newHashes, part)];
    return { name, oldValue, newValue, secret: true };
  });
  return {
    key: subjectOf(change.key),
    kind: change.oldBody === null ? "added" : change.newBody === null ? "deleted" : "changed",
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
  const mount = readBody(stored);
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
