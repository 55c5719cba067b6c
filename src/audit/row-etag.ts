import type { AuditPosition } from "./store.ts";

/** Row that a client has read. */
export interface ReadRow {
  readonly seq: number;
  /** First digits of its hash. Absent: not known. */
  readonly hash?: string;
}

/** Number of digits of a hash in an etag. */
const ETAG_DIGITS = 16;

/** Identifies a row also after the database was restored from a copy: `42.0123456789abcdef`. */
export function etagOfRow({ seq, hash }: AuditPosition): string {
  return `${seq}.${hash.slice(0, ETAG_DIGITS)}`;
}

/** Reads an etag of a row; undefined: it is not one. */
export function readRowEtag(text: string): ReadRow | undefined {
  const [, digits, hash] = /^(0|[1-9]\d{0,14})\.([0-9a-f]{16})$/.exec(text) ?? [];
  return digits === undefined || hash === undefined ? undefined : { seq: Number(digits), hash };
}
