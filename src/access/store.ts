import type { AuditEntry } from "../audit/store.ts";

/** Principal as stored. Times are milliseconds since 1970 UTC. */
export interface StoredPrincipal {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: it is not. */
  readonly disabledAt: number | null;
}

/** Token as stored. Times are milliseconds since 1970 UTC. */
export interface StoredToken {
  readonly id: string;
  readonly principalId: string;
  /** SHA-256 of its secret in base64url. */
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly limits: readonly string[];
  readonly comment: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: never. */
  readonly expiresAt: number | null;
  /** It ends then because a successor has taken its place; null: it has none. */
  readonly notAfter: number | null;
  readonly replacedBy: string | null;
  readonly revokedAt: number | null;
  readonly revokedBy: string | null;
}

/** When and from where a token was used last. */
export interface TokenUse {
  readonly tokenId: string;
  readonly time: number;
  readonly peer: string;
}

/** Principals and tokens. */
export interface AccessRows {
  readonly principals: readonly StoredPrincipal[];
  readonly tokens: readonly StoredToken[];
}

/** Changed rows. */
interface AccessNews extends AccessRows {
  readonly version: number;
  /**
   * The rows are all that there are, and others mean nothing any more: another database, or an older
   * state of this one, has taken its place, or tokens were forgotten.
   */
  readonly isWhole: boolean;
}

/** Reads and writes of a change of access. */
export interface AccessTransaction {
  principalNamed(name: string): Promise<StoredPrincipal | undefined>;
  principal(id: string): Promise<StoredPrincipal | undefined>;
  token(id: string): Promise<StoredToken | undefined>;
  tokenCount(): Promise<number>;
  /** Tokens that were seen to have ended before a counted time, see `countEnded`; the first `limit` of them. */
  endedBefore(time: number, limit: number): Promise<readonly StoredToken[]>;
  /**
   * Adds rows, or replaces those of the same id; takes away the tokens of the ids in `forgotten`; `audit`
   * says what this is. Once, as the last step.
   *
   * @returns the version that they are.
   */
  write(rows: AccessWrite): Promise<number>;
}

/** Rows that one change of access writes. */
interface AccessWrite extends Partial<AccessRows> {
  readonly forgotten?: readonly string[];
  readonly audit: readonly AuditEntry[];
}

/** Keeps who may do what. Rejects with a StoreError only. */
export interface AccessStore {
  /** Reports whether another process may have written since the last `news`. Cheap. */
  changedElsewhere(): boolean;
  /** Changes after a version; 0: everything. */
  news(after: number): Promise<AccessNews>;
  /** Runs a change alone; nothing is written when it rejects. */
  transact<T>(work: (transaction: AccessTransaction) => Promise<T>): Promise<T>;
  /** Resolves when no process goes by an older version without changedElsewhere being true there. */
  seenEverywhere(version: number): Promise<void>;
  /**
   * Advances the counted time by a step and records when the end of a token was first observed. A
   * token that is valid again, after a clock correction, is recorded anew when it ends.
   *
   * @param now decides which tokens have ended, in milliseconds since 1970 UTC.
   * @returns the counted time in milliseconds, which is independent of clocks.
   */
  countEnded(now: number, step: number): Promise<number>;
  recordUses(uses: readonly TokenUse[]): Promise<void>;
  /** When these tokens were used last, those that were. */
  uses(tokenIds: readonly string[]): Promise<readonly TokenUse[]>;
}
