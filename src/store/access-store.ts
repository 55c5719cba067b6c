import type { AuditEntry } from "./audit-store.ts";

/** Somebody who has tokens, as the store keeps it. Times are milliseconds since 1970 UTC. */
export interface StoredPrincipal {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: it is not. */
  readonly disabledAt: number | null;
}

/** A token, likewise. */
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

/** What has changed. */
export interface AccessNews extends AccessRows {
  readonly version: number;
  /**
   * The rows are all that there are, and others mean nothing any more: another database, or an older
   * state of this one, has taken its place.
   */
  readonly isWhole: boolean;
}

/** What a change of access asks for and writes. */
export interface AccessTransaction {
  principalNamed(name: string): Promise<StoredPrincipal | undefined>;
  principal(id: string): Promise<StoredPrincipal | undefined>;
  token(id: string): Promise<StoredToken | undefined>;
  tokenCount(): Promise<number>;
  /**
   * Adds rows, or replaces those of the same id; `audit` says what this is. Once, as the last step.
   *
   * @returns the version that they are.
   */
  write(rows: Partial<AccessRows> & { readonly audit: readonly AuditEntry[] }): Promise<number>;
}

/** Keeps who may do what. Rejects with a StoreError only. */
export interface AccessStore {
  /** Whether somebody else may have changed something since `news` was asked last. Cheap. */
  changedElsewhere(): boolean;
  /** The same as of when the store of settings was asked last, which has just been done: cheaper. */
  changedAtLastLook(): boolean;
  /** What was written after a version; 0: everything. */
  news(after: number): Promise<AccessNews>;
  /** Runs a change alone; nothing is written when it rejects. */
  transact<T>(work: (transaction: AccessTransaction) => Promise<T>): Promise<T>;
  /** Resolves when no process goes by an older version without changedElsewhere being true there. */
  seenEverywhere(version: number): Promise<void>;
  recordUses(uses: readonly TokenUse[]): Promise<void>;
  /** When these tokens were used last, those that were. */
  uses(tokenIds: readonly string[]): Promise<readonly TokenUse[]>;
}
