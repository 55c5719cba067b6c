/**
 * Maximum number of rows that one page or one batch scans: a filter without matches must not block
 * other calls.
 */
export const MAX_SCANNED = 10_000;

/** Action or refused call, before it is a row of the audit. */
export interface AuditEntry {
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly actor: string;
  /** Id of the token; empty: none. */
  readonly tokenId: string;
  readonly transport: string;
  /** The rpc, such as `SaveSettings`, or the name of an action of the program. */
  readonly method: string;
  readonly peer: string;
  readonly requestId: string;
  /** `OK`, or the canonical code of a refusal. */
  readonly outcome: string;
  /** Names of the objects of the action. Rows keep the first ones of a long list. */
  readonly subjects: readonly string[];
  /** Becomes a JSON object; never a secret value. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A row of the audit. */
export interface AuditRow extends Omit<AuditEntry, "detail"> {
  /** From 1 on, without gaps. */
  readonly seq: number;
  /** Stored JSON text, which the hash covers. */
  readonly detail: string;
  /** Hash of the previous row, in hexadecimal. */
  readonly prev: string;
  readonly hash: string;
}

/** Number and hash of a row. */
export interface AuditPosition {
  readonly seq: number;
  readonly hash: string;
}

/** A row that was the newest when its hash was published. */
export interface PublishedPosition extends AuditPosition {
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/** Filter for rows. All given members must match. */
export interface AuditFilter {
  /** An actor, or the name of a principal for all its tokens. */
  readonly actor?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly methods?: readonly string[] | undefined;
  readonly outcomes?: readonly string[] | undefined;
  /** Part of the subjects, case-insensitive. */
  readonly subjectPart?: string | undefined;
  /** Inclusive lower bound of the time, in milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  /** Exclusive upper bound of the time. */
  readonly until?: number | undefined;
}

/** Range of rows, both bounds exclusive. */
export interface AuditRange extends AuditFilter {
  readonly after: number;
  readonly before: number;
  readonly limit: number;
  readonly newestFirst: boolean;
}

/** Retention of the audit. */
export interface AuditRetention {
  /** Maximum number of rows, at least 2. */
  readonly count: number;
  /** Older rows are deleted within an hour: milliseconds since 1970 UTC. */
  readonly notBefore: number;
}

/** Store of the audit: rows are appended, and deleted from the oldest on. Rejects only with a StoreError. */
export interface AuditStore {
  /** Id of the database, for checkpoints. */
  readonly origin: string;
  /** Newest row; 0 and 64 zeros if there never was one. */
  head(): Promise<AuditPosition>;
  /** Position of the newest deleted row. */
  floor(): Promise<AuditPosition>;
  rows(range: AuditRange): Promise<readonly AuditRow[]>;
  /** Appends rows in a separate transaction. The rows of changes are written with the changes. */
  append(entries: readonly AuditEntry[]): Promise<void>;
  /**
   * Deletes the oldest rows beyond the retention, at most `step`; the newest always stays. The same
   * transaction appends a row about the deletion.
   *
   * @param now time of that row, in milliseconds since 1970 UTC.
   * @returns the number of deleted rows.
   */
  forget(retention: AuditRetention, step: number, now: number): Promise<number>;
  /** Last published position; undefined: none. */
  published(): Promise<PublishedPosition | undefined>;
  /**
   * Stores a position before it is published.
   *
   * @param last result of `published`.
   * @returns false if another process has published meanwhile.
   */
  publish(last: PublishedPosition | undefined, next: PublishedPosition): Promise<boolean>;
}
