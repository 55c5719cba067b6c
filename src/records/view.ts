import type { Ledger } from "../ledger/ledger.ts";
import { memoize } from "../memoize.ts";
import { MAX_SITES } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";

/** Records of a kind at the newest revision. The same objects until one of them changes. */
export interface RecordView<R, W> {
  /** All records, by key. */
  all(): ReadonlyMap<string, R>;
  /** Desired records of a site, with its overrides applied. */
  wantedOf(site: { readonly id: string }): readonly W[];
}

/** @param wantedOn the desired form of a record on a site that has it. */
export function createRecordView<R extends SiteRecord, W>(
  ledger: Pick<Ledger, "snapshot">,
  { token, byKey }: SiteKind<R>,
  wantedOn: (record: R, siteId: string) => W,
): RecordView<R, W> {
  const all = (): ReadonlyMap<string, R> => byKey(ledger.snapshot().of(token));
  const wanted = memoize((records: ReadonlyMap<string, R>) =>
    memoize(
      (siteId: string): readonly W[] =>
        [...records.values()]
          .filter((record) => isOnSite(record, siteId))
          .map((record) => wantedOn(record, siteId)),
      { limit: MAX_SITES },
    ),
  );
  return { all, wantedOf: ({ id }) => wanted(all())(id) };
}
