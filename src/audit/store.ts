/** Action of a caller, or its refusal, before it has a place in the audit. */
export interface AuditEntry {
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly actor: string;
  /** The id of the token; empty where it has none. */
  readonly tokenId: string;
  readonly door: string;
  /** The rpc, such as `SaveSettings`, or the name of an action of the program. */
  readonly method: string;
  readonly peer: string;
  readonly requestId: string;
  /** `OK`, or the canonical code of a refusal. */
  readonly outcome: string;
  /** Names of what it was about; the first ones of very many are kept. */
  readonly subjects: readonly string[];
  /** Becomes a JSON object; never a secret value. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A row of the audit. */
export interface AuditRow extends Omit<AuditEntry, "detail"> {
  /** From 1 on, without gaps. */
  readonly seq: number;
  /** The JSON text as it was written: the hash is of it. */
  readonly detail: string;
  /** The hash of the row before, in hexadecimal. */
  readonly prev: string;
  readonly hash: string;
}

/** A row's number with its hash. */
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
  /** This one, or any token of the principal of this name. */
  readonly actor?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly methods?: readonly string[] | undefined;
  readonly outcomes?: readonly string[] | undefined;
  /** A text that is somewhere in the names of what it was about, whatever the case of its letters. */
  readonly subjectPart?: string | undefined;
  /** At or after, in milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  /** Exclusive upper bound of the time. */
  readonly until?: number | undefined;
}

/** A range of rows: after one, before another. */
export interface AuditRange extends AuditFilter {
  readonly after: number;
  readonly before: number;
  readonly limit: number;
  readonly newestFirst: boolean;
}

/** Retention of the audit. */
export interface AuditRetention {
  /** Rows at most; fewer than 2 are 2. */
  readonly count: number;
  /** Older rows go within an hour: milliseconds since 1970 UTC. */
  readonly notBefore: number;
}

/** Keeps the audit: rows are added to its end, and forgotten from its beginning. Rejects with a StoreError only. */
export interface AuditStore {
  /** Names the database in checkpoints. */
  readonly origin: string;
  /** The newest row; 0 and 64 zeros when there never was one. */
  head(): Promise<AuditPosition>;
  /** Position of the newest deleted row. */
  floor(): Promise<AuditPosition>;
  rows(range: AuditRange): Promise<readonly AuditRow[]>;
  /** Adds rows in a transaction of their own; those of changes are written with them. */
  append(entries: readonly AuditEntry[]): Promise<void>;
  /**
   * Forgets the oldest rows beyond the retention, at most `step` of them; the newest always stays. A row
   * that is added says which were forgotten, in the same transaction.
   *
   * @param now the time of that row, in milliseconds since 1970 UTC.
   * @returns how many were forgotten.
   */
  forget(retention: AuditRetention, step: number, now: number): Promise<number>;
  /** Position that was published last; undefined: none. */
  published(): Promise<PublishedPosition | undefined>;
  /**
   * Notes that a position is published, before it is.
   *
   * @param last what `published` has said.
   * @returns false when another process was faster.
   */
  publish(last: PublishedPosition | undefined, next: PublishedPosition): Promise<boolean>;
}
