import type { Fingerprint } from "../secrets/fingerprint.ts";

/** Number of characters of the hash in an etag, 6 bits each. */
const HASH_LENGTH = 16;

/** A record at the revision of its last change. */
interface Recorded {
  readonly key: string;
  readonly revision: number;
  /** Text that is equal for equal contents. */
  readonly content: string;
}

/**
 * Etags of single records, `42.Ssq5nG3dXo1u0aQK`: the revision of the last change with a keyed hash
 * of it and of the content. A database that was put back to an older state gives revisions again,
 * with other contents; and a caller that may not read a content cannot find it by guesses. Revision
 * 0, at which a record does not exist or has its default, has no hash.
 */
export interface RecordEtags {
  of(record: Recorded): string;
  /** Reports whether an etag is of this content at its own revision. */
  isOf(etag: string, record: Omit<Recorded, "revision">): boolean;
}

export function createRecordEtags({ of: hash }: Pick<Fingerprint, "of">): RecordEtags {
  const of = ({ key, revision, content }: Recorded): string =>
    revision === 0
      ? NO_RECORD
      : `${revision}.${hash(JSON.stringify([key, revision, content])).slice(-HASH_LENGTH)}`;
  return {
    of,
    isOf: (etag, { key, content }) => {
      const revision = revisionOfRecord(etag) ?? 0;
      return revision > 0 && etag === of({ key, revision, content });
    },
  };
}

/** Etag of a record that does not exist or has its default. */
export const NO_RECORD = "0";

/** Revision of a record's etag; undefined: it is not one. */
export function revisionOfRecord(etag: string): number | undefined {
  const [, digits] = /^(0|[1-9]\d{0,14}\.[\w-]{16})$/.exec(etag) ?? [];
  return digits === undefined ? undefined : Number.parseInt(digits, 10);
}
