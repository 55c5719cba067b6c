import { type Grant, outsideLimits } from "../access/grant.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { RecordEtag } from "./etag.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";

/** Rules of a save of records by a caller. */
export interface RecordSaveRules<R> extends SaveRights {
  readonly etagOf: RecordEtag<R>;
  /** All sites. */
  readonly sites: SiteNames;
  /** Source that manages a record, such as a file; undefined: clients may change it. */
  readonly managedBy: (key: string) => string | undefined;
  /** Whether the values were adopted from a site, which has the secrets. */
  readonly isAdopted: boolean;
  /**
   * Whether the values come from a site, a document or another record: they are taken as they are, and
   * problems are in the note of the result.
   */
  readonly carries?: boolean;
}

/** Rights of the caller of a save. */
export interface SaveRights {
  /** Reports whether the caller may see and change a record at a path. */
  readonly allows: (path: string) => boolean;
  /** Throws PERMISSION_DENIED. */
  readonly refuse: () => never;
  /** Whether the caller may read secrets. */
  readonly reveals: boolean;
}

export function saveRights<R extends SiteRecord>(
  { noun, plural }: Pick<SiteKind<R>, "noun" | "plural">,
  grant: Grant,
): SaveRights {
  return {
    allows: (path) => grant.allowsPath(noun, path),
    refuse: () => {
      throw outsideLimits(grant);
    },
    reveals: grant.has(`${plural}:reveal`),
  };
}
