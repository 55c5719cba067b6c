import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { message, type Text } from "../messages/message.ts";
import type { EffectsOnRecords } from "../sites/record-effect.ts";
import { isOnSite, type OnSites, siteNamesOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";

export interface LeaveDeps<R> {
  readonly ledger: Pick<Ledger, "change">;
  readonly all: () => ReadonlyMap<string, R>;
  readonly sites: { names(): SiteNames };
  /** @throws FAILED_PRECONDITION for a record that a file declares. */
  readonly refuseManaged: (key: string) => void;
}

/** Removes a deleted site from the records of a kind that name it. */
export function leaveDeletedSite<R extends SiteRecord>(
  { token, withoutSite }: SiteKind<R>,
  { ledger, all, sites, refuseManaged }: LeaveDeps<R>,
): EffectsOnRecords["leave"] {
  return async (site, origin, { dryRun }) => {
    const named = [...all()].flatMap(([key, record]) => (namesSite(record, site.id) ? [key] : []));
    for (const key of named) refuseManaged(key);
    if (named.length === 0) return [];
    const { result } = await ledger.change(
      { ...origin, reason: `the site ${site.name} was removed` },
      (draft) =>
        named.flatMap((key) => {
          const record = draft.get(token, key);
          if (record === undefined || !namesSite(record, site.id)) return [];
          const left = withoutSite(record, site.id);
          draft.put(token, left);
          return [{ ...resultAs(key, "changed", leftNote(left, sites.names())), effects: [] }];
        }),
      { dryRun },
    );
    return result;
  };
}

/**
 * Applies deletions on a site to a draft: removes each record, or only its assignment to this site.
 *
 * @returns the results; none for keys without a record.
 */
export function removeAllFromSite<R extends SiteRecord>(
  draft: Draft,
  kind: SiteKind<R>,
  keys: readonly string[],
  {
    siteId,
    sites,
    managedBy,
  }: {
    readonly siteId: string;
    readonly sites: SiteNames;
    /** File that declares a record, which stays as it is; undefined: clients change it. */
    readonly managedBy: (key: string) => string | undefined;
  },
): readonly RecordResult[] {
  return keys.flatMap((key) => {
    const file = managedBy(key);
    if (file !== undefined) return [resultAs(key, "skipped", message("MANAGED_BY_FILE", { file }))];
    const record = draft.get(kind.token, key);
    return record === undefined ? [] : [removeFromSite(draft, kind, record, siteId, sites)];
  });
}

function removeFromSite<R extends SiteRecord>(
  draft: Draft,
  { token, keyOf, withoutSite }: SiteKind<R>,
  record: R,
  siteId: string,
  sites: SiteNames,
): RecordResult {
  const key = keyOf(record);
  const others = sites.ids.filter((id) => id !== siteId && isOnSite(record, id));
  if (others.length === 0) {
    draft.delete(token, key);
    return resultAs(key, "deleted");
  }
  draft.put(token, { ...withoutSite(record, siteId), siteIds: others });
  const names = others.map(sites.nameOf).join(", ");
  const note = message("STAYS_ON_SITES", { sites: names });
  return resultAs(key, "changed", note, { differs: ["sites"] });
}

/** Note that names the remaining sites of a record that has left a site; empty: all sites. */
function leftNote(record: OnSites, names: SiteNames): Text {
  const sites = siteNamesOf(record, names);
  if (sites === "all") return "";
  if (sites.length === 0) return message("MOUNT_ON_NO_SITE");
  return message("STAYS_ON_SITES", { sites: sites.join(", ") });
}

/** Reports whether a record names a site: one of all sites does only with values for it. */
function namesSite({ siteIds, overrides }: OnSites, siteId: string): boolean {
  return (siteIds !== "all" && siteIds.includes(siteId)) || Object.hasOwn(overrides, siteId);
}
