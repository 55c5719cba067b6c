import type { AuditEntry } from "../audit/store.ts";

/** Principal as stored. Times are milliseconds since 1970 UTC. */
export interface StoredPrincipal {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: it is enabled. */
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
  /** End of a rotated token; null: it has no successor. */
  readonly notAfter: number | null;
  readonly replacedBy: string | null;
  readonly revokedAt: number | null;
  readonly revokedBy: string | null;
}

/** Time and client address of a token's last use. */
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
   * Whether the rows are complete, so that all known rows are discarded: the database was replaced or
   * restored, or tokens were deleted.
   */
  readonly isWhole: boolean;
}

/** Reads and writes of a change of access. */
export interface AccessTransaction {
  principalNamed(name: string): Promise<StoredPrincipal | undefined>;
  principal(id: string): Promise<StoredPrincipal | undefined>;
  token(id: string): Promise<StoredToken | undefined>;
  tokenCount(): Promise<number>;
  /** The first `limit` tokens whose end was recorded before a counted time (see `countEnded`). */
  endedBefore(time: number, limit: number): Promise<readonly StoredToken[]>;
  /**
   * Inserts or replaces rows by id, deletes the tokens in `forgotten`, and appends `audit`. Called once,
   * as the last step.
   *
   * @returns the version of the rows.
   */
  write(rows: AccessWrite): Promise<number>;
}

/** Rows that one change of access writes. */
interface AccessWrite extends Partial<AccessRows> {
  readonly forgotten?: readonly string[];
  readonly audit: readonly AuditEntry[];
}

/** Stores principals and tokens. Rejects only with a StoreError. */
export interface AccessStore {
  /** Reports whether another process may have written since the last `news`. Cheap. */
  changedElsewhere(): boolean;
  /** Changes after a version; 0: everything. */
  news(after: number): Promise<AccessNews>;
  /** Runs a change in a transaction; nothing is written if it rejects. */
  transact<T>(work: (transaction: AccessTransaction) => Promise<T>): Promise<T>;
  /** Resolves when every process uses this version, or has changedElsewhere() true. */
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
  /** Last uses of these tokens; unused tokens are absent. */
  uses(tokenIds: readonly string[]): Promise<readonly TokenUse[]>;
}
