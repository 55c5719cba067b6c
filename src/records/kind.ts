import type { Grant, PathNoun } from "../access/grant.ts";
import type { Draft } from "../ledger/draft.ts";
import { type Item, type Kind, kindNamed } from "../ledger/kind.ts";
import type { View } from "../ledger/view.ts";
import { memoize } from "../memoize.ts";
import { PathIndex } from "../sites/path-index.ts";
import { type OnSites, pathsOf } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { BlindSecret, SecretPlace } from "./secret-place.ts";
import type { KindTexts } from "./text.ts";

/** Record that is brought to servers: a mount, or a folder rule. */
export type SiteRecord = Item & OnSites;

/** Members of a kind that differ between kinds. */
interface KindMembers<R extends SiteRecord> {
  /** Singular: its name in the ledger, in limits, and before the keys of its records. */
  readonly noun: PathNoun;
  /** Plural, with which its scopes and the fields of its violations begin. */
  readonly plural: "mounts" | "rules";
  /** Field of the key in a request. */
  readonly keyField: "name" | "path";
  /** Field of the path in a request. */
  readonly pathField: "mount_path" | "path";
  /** Key of a record in the ledger, by which clients name it. */
  readonly keyOf: (record: R) => string;
  /** Removes a site from a record, with the site's own values. A record without sites stays on none. */
  readonly withoutSite: (record: R, siteId: string) => R;
  /** Field of a secret in a violation, such as `overrides.home.config.token`. */
  readonly secretField: (place: SecretPlace, sites: Pick<SiteNames, "nameOf">) => string;
  /** Secrets of a record whose values are lost. */
  readonly missingOf: (record: R) => readonly SecretPlace[];
  /** Blind secrets of the stored open part of a record. */
  readonly blindIn: (body: string) => readonly BlindSecret[];
  readonly texts: KindTexts;
}

/** Kind of records that are brought to servers. */
export interface SiteKind<R extends SiteRecord> extends KindMembers<R> {
  /** Its token in the ledger. */
  readonly token: Kind<R>;
  /** Reports whether the limits of a grant permit a record, with its paths on all sites. */
  isAllowed(grant: Pick<Grant, "allowsPath">, record: R): boolean;
  /** All records of a snapshot by key, sorted. The same object until one of them changes. */
  byKey(view: View<R>): ReadonlyMap<string, R>;
  /** All records of a draft by key, sorted. */
  ofDraft(draft: Draft): RecordIndex<R>;
}

/** All records of a kind, by key, with an index of their paths on any site. */
export type RecordIndex<R extends OnSites> = PathIndex<R>;

export function siteKind<R extends SiteRecord>(members: KindMembers<R>): SiteKind<R> {
  const { noun, keyOf } = members;
  const token = kindNamed<R>(noun);
  const sorted = (records: Iterable<R>): (readonly [string, R])[] =>
    Array.from(records, (record) => [keyOf(record), record] as const).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
  return {
    ...members,
    token,
    isAllowed: ({ allowsPath }, record) => pathsOf(record).every((path) => allowsPath(noun, path)),
    byKey: memoize((view: View<R>) => new Map(sorted(view.items()))),
    ofDraft: (draft) => {
      const records = [...draft.keys(token)].flatMap((key) => draft.get(token, key) ?? []);
      return new PathIndex(sorted(records));
    },
  };
}
