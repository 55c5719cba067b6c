import { type HistorySites, sitesText } from "../records/history-change.ts";
import { missingFields, type Values } from "./mount.ts";
import { readBody } from "./stored.ts";

/** Items of a stored mount as text, by name, without its secrets. */
export function itemsOfMount(body: string, sites: HistorySites): ReadonlyMap<string, string> {
  const items = new Map<string, string>();
  const mount = readBody(body);
  const addAll = (prefix: string, values: Values): void => {
    for (const [item, value] of Object.entries(values)) items.set(`${prefix}.${item}`, `${value}`);
  };
  items.set("mount_path", mount.path);
  items.set("driver", mount.driver);
  items.set("disabled", String(mount.disabled));
  items.set("content", mount.content);
  items.set("sites", sitesText(mount, sites));
  addAll("config", mount.items);
  addAll("members", mount.members);
  for (const [site, { path, items: own, members }] of Object.entries(mount.overrides)) {
    const place = `overrides.${sites.nameOf(site)}`;
    if (path !== "") items.set(`${place}.mount_path`, path);
    addAll(`${place}.config`, own);
    addAll(`${place}.members`, members);
  }
  const missing = missingFields(mount, sites);
  if (missing.length > 0) items.set("missing", missing.join(", "));
  return items;
}
