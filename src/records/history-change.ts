import type { ItemChange, RecordChange } from "../history/kind.ts";
import type { PartTexts, StoredChange } from "../ledger/store.ts";
import { MASK } from "../settings/value.ts";
import { type OnSites, siteNamesOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { placeOf } from "./secret-place.ts";
import { shownParts } from "./shown-secret.ts";
import { REMOVED, subjectOf } from "./subject.ts";

/** Names of sites for the history. */
export type HistorySites = Pick<SiteNames, "nameOf">;

/**
 * Change of a record for display, item by item.
 *
 * @param itemsOf items of a stored open part as text, by name, without secrets. @param sites those
 *   of removed sites are unknown.
 */
export function describeChange<R extends SiteRecord>(
  kind: SiteKind<R>,
  change: StoredChange,
  itemsOf: (body: string, sites: HistorySites) => ReadonlyMap<string, string>,
  sites: HistorySites,
): RecordChange {
  const names: HistorySites = { nameOf: (id) => sites.nameOf(id) || REMOVED };
  const items = (body: string | null): ReadonlyMap<string, string> =>
    body === null ? new Map() : itemsOf(body, names);
  const before = items(change.oldBody);
  const after = items(change.newBody);
  const open = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): ItemChange[] => {
    const [oldValue, newValue] = [before.get(name), after.get(name)];
    return oldValue === newValue ? [] : [{ name, oldValue, newValue, secret: false }];
  });
  const mask = (hashes: PartTexts | null, part: string): string | undefined =>
    hashes !== null && Object.hasOwn(hashes, part) ? MASK : undefined;
  const secrets = shownParts(kind, change).map(
    (part): ItemChange => ({
      name: kind.secretField(placeOf(part), names),
      oldValue: mask(change.oldHashes, part),
      newValue: mask(change.newHashes, part),
      secret: true,
    }),
  );
  return {
    key: subjectOf(kind, change.key),
    kind: change.oldBody === null ? "added" : change.newBody === null ? "deleted" : "changed",
    secret: false,
    items: [...open, ...secrets],
  };
}

/** Sites of a record as text. */
export function sitesText(record: Pick<OnSites, "siteIds">, sites: HistorySites): string {
  const names = siteNamesOf(record, sites);
  if (names === "all") return names;
  return names.length === 0 ? "none" : names.join(", ");
}
