import type { Text } from "../messages/message.ts";

/** State of all records of one kind on a site: what every kind has. */
export interface SiteRecords {
  /** The reason for which the records can't be read; empty: none. */
  readonly error: Text;
  /** `SiteFailureKind`. */
  readonly errorKind: string;
  /** Time of the first failure of this kind in a row, in milliseconds since 1970 UTC. */
  readonly errorSince: number;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Time of the next attempt, in milliseconds since 1970 UTC; 0: at once. */
  readonly nextTry: number;
  /**
   * Whether the records were adopted or pushed on request; until then the site is not written to.
   */
  readonly contacted: boolean;
  /** Names of records that a user has requested to push despite earlier failures. */
  readonly forced: readonly string[];
}

/** State of the records on a site that was not read yet. */
export const NEW_SITE_RECORDS: SiteRecords = Object.freeze({
  contacted: false,
  error: "",
  errorKind: "",
  errorSince: 0,
  failures: 0,
  nextTry: 0,
  forced: [],
});
