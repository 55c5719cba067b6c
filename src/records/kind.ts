import type { Draft } from "../ledger/draft.ts";
import type { Item, Kind } from "../ledger/kind.ts";
import type { View } from "../ledger/view.ts";
import { memoize } from "../memoize.ts";
import { PathIndex } from "../sites/path-index.ts";
import type { OnSites } from "../sites/site-choice.ts";

/** Record that is brought to servers: a mount, or a folder rule. */
export type SiteRecord = Item & OnSites;

/** Members of a kind that differ between kinds. */
interface KindMembers<R extends SiteRecord> {
  /** Its token in the ledger. */
  readonly token: Kind<R>;
  /** Key of a record in the ledger, by which clients name it. */
  readonly keyOf: (record: R) => string;
  /** Removes a site from a record, with the site's own values. A record without sites stays on none. */
  readonly withoutSite: (record: R, siteId: string) => R;
}

/** Kind of records that are brought to servers. */
export interface SiteKind<R extends SiteRecord> extends KindMembers<R> {
  /** All records of a snapshot by key, sorted. The same object until one of them changes. */
  byKey(view: View<R>): ReadonlyMap<string, R>;
  /** All records of a draft by key, sorted. */
  ofDraft(draft: Draft): RecordIndex<R>;
}

/** All records of a kind, by key, with an index of their paths on any site. */
export type RecordIndex<R extends OnSites> = PathIndex<R>;

export function siteKind<R extends SiteRecord>(members: KindMembers<R>): SiteKind<R> {
  const { token, keyOf } = members;
  const sorted = (records: Iterable<R>): (readonly [string, R])[] =>
    Array.from(records, (record) => [keyOf(record), record] as const).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
  return {
    ...members,
    byKey: memoize((view: View<R>) => new Map(sorted(view.items()))),
    ofDraft: (draft) => {
      const records = [...draft.keys(token)].flatMap((key) => draft.get(token, key) ?? []);
      return new PathIndex(sorted(records));
    },
  };
}
