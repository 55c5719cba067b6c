import type { HistoryView } from "../settings/history-rpc.ts";
import { isMountChange, mountKey, readMountKey } from "../settings/mount-key.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { readStored, siteNamesOf } from "./mount.ts";

/** Name that is shown for a site that was removed. */
const REMOVED = "removed";

/** Changes of mounts in the history, with the names of sites in place of their ids. */
export function createHistoryView(names: () => Pick<SiteNames, "idOf" | "nameOf">): HistoryView {
  const nameOf = (id: string): string => names().nameOf(id) || REMOVED;
  const showValue = (value: string): string => {
    const { siteIds, overrides, missing, ...mount } = readStored(value);
    return JSON.stringify({
      ...mount,
      sites: siteNamesOf({ siteIds }, names()),
      overrides: Object.fromEntries(
        Object.entries(overrides).map(([id, override]) => [nameOf(id), override]),
      ),
      ...(missing.length > 0 && {
        missing: missing.map(({ site, item }) => ({ site: site && nameOf(site), item })),
      }),
    });
  };
  const replaceSite = (key: string, replace: (site: string) => string): string => {
    const place = readMountKey(key);
    if (place?.site === undefined) return key;
    return mountKey(place.name, place.item, replace(place.site));
  };
  return {
    showKey: (key) => replaceSite(key, nameOf),
    storedKey: (key) => replaceSite(key, (name) => names().idOf(name) ?? name),
    showChange: (change) => {
      if (!isMountChange(change)) return change;
      const place = readMountKey(change.key);
      if (place?.item !== undefined) return { ...change, key: replaceSite(change.key, nameOf) };
      return {
        ...change,
        oldBody: change.oldBody && showValue(change.oldBody),
        newBody: change.newBody && showValue(change.newBody),
      };
    },
  };
}
