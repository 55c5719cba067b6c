import type { Item } from "../ledger/kind.ts";
import { createRecordEtags, NO_RECORD } from "../ledger/record-etag.ts";
import { memoize } from "../memoize.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { sortedJson } from "../sorted-json.ts";

/** Etag of a record, secrets included; undefined: it does not exist. */
export type RecordEtag<R> = (record: R | undefined) => string;

export function createRecordEtag<R extends Item>(
  fingerprint: Pick<Fingerprint, "of">,
  keyOf: (record: R) => string,
): RecordEtag<R> {
  const etags = createRecordEtags(fingerprint);
  const of = memoize((record: R) =>
    etags.of({ key: keyOf(record), revision: record.revision, content: sortedJson(record) }),
  );
  return (record) => (record === undefined ? NO_RECORD : of(record));
}
