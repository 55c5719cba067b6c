/** A setting as the store keeps it. */
export interface StoredSetting {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
  /** `known`: defined by the program when it was written. `custom`: made by a client. */
  readonly origin: "known" | "custom";
  /** Order of custom settings among themselves; 0 for known ones. */
  readonly position: number;
  /** The revision that wrote it last. */
  readonly revision: number;
}

/** What one revision did to one key, as the history keeps it. */
export interface StoredChange {
  readonly key: string;
  /** Null: the setting did not exist, or its value is secret and stands as a hash. */
  readonly oldValue: string | null;
  readonly newValue: string | null;
  /** Keyed hashes of secret values. */
  readonly oldHash: string | null;
  readonly newHash: string | null;
  /** JSON of a custom setting's definition. */
  readonly oldDefinition: string | null;
  readonly newDefinition: string | null;
}

/** Who changed settings, and how. */
export interface RevisionOrigin {
  /** The token's name, or the part of the program that made the change. */
  readonly actor: string;
  readonly door: string;
  /** The rpc, such as `SaveSettings`. */
  readonly method: string;
  readonly requestId: string;
  readonly peer: string;
  /** What the client gave as its reason; may be empty. */
  readonly reason: string;
}

/** One committed change of settings. */
export interface StoredRevision extends RevisionOrigin {
  readonly revision: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/** A revision that is about to be committed. */
export interface RevisionCommit extends StoredRevision {
  readonly changes: readonly StoredChange[];
}

/** Everything that is stored at one revision. */
export interface StoredState {
  readonly revision: number;
  readonly settings: readonly StoredSetting[];
}

/** What other processes have committed after a revision. */
export interface StoredDelta {
  readonly revision: number;
  readonly changed: readonly StoredSetting[];
  readonly deleted: readonly string[];
  /** Each of the revisions, in order; undefined when there are too many to hold at once. */
  readonly commits: readonly RevisionCommit[] | undefined;
}

/** Which revisions a page of the history has. All given members must fit. */
export interface RevisionFilter {
  /** Only older ones than this. */
  readonly before?: number | undefined;
  readonly key?: string | undefined;
  readonly actor?: string | undefined;
  /** At or after, in milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  /** Before, likewise. */
  readonly until?: number | undefined;
  readonly limit: number;
}

/** A revision with the keys that it changed. */
export interface RevisionSummary extends StoredRevision {
  readonly keys: readonly string[];
}

/** How much of the history is kept. */
export interface Retention {
  /** Revisions at most. */
  readonly count: number;
  /** Older ones go: milliseconds since 1970 UTC. */
  readonly notBefore: number;
}

/** The rows that one transaction writes. What is set or deleted is among the revisions' changes. */
export interface StoredWrite {
  readonly revisions: readonly RevisionCommit[];
  readonly upserts: readonly StoredSetting[];
  readonly deletes: readonly string[];
}

/** A write transaction: it holds the write lock, so nobody else commits while it is open. */
export interface SettingTransaction {
  /** The revision in the database now. */
  revision(): Promise<number>;
  /** What was committed after a revision, or undefined when only a full load can tell. */
  delta(after: number): Promise<StoredDelta | undefined>;
  load(): Promise<StoredState>;
  write(rows: StoredWrite): Promise<void>;
}

/**
 * Keeps settings and their history. Every method rejects with a StoreError and nothing else.
 * Each implementation passes the contract suite in test/store.
 */
export interface SettingStore {
  /** A random id of this database: revisions of two databases are told apart by it. */
  readonly databaseId: string;
  /** A random key of this database, for the hashes that stand for secrets in its history. */
  readonly fingerprintKey: Buffer;
  /**
   * Whether another connection has committed since the last call of load, delta or transact.
   * Synchronous and cheap: it is asked at every call that carries a token.
   */
  changedElsewhere(): boolean;
  load(): Promise<StoredState>;
  /** What was committed after a revision, or undefined when only a full load can tell. */
  delta(after: number): Promise<StoredDelta | undefined>;
  /**
   * Runs work in one write transaction and resolves after its commit is on disk. When work rejects,
   * nothing is written. Waits up to a few seconds for another process's lock.
   */
  transact<T>(work: (transaction: SettingTransaction) => Promise<T>): Promise<T>;
  /** The oldest revision that the history has; 0: none. */
  oldestRevision(): Promise<number>;
  /** A page of the history, newest first. */
  listRevisions(filter: RevisionFilter): Promise<readonly RevisionSummary[]>;
  /** Revisions with their changes, oldest first: those after one, up to another, at most `limit`. */
  commits(after: number, upTo: number, limit: number): Promise<readonly RevisionCommit[]>;
  /**
   * What happened to each key in a range of revisions, as one change: from before the first to
   * after the last.
   */
  changesBetween(after: number, upTo: number): Promise<readonly StoredChange[]>;
  /**
   * Rewrites stored values as they are, without a revision: for sealing them anew. A setting that has
   * changed since it was read is left alone.
   */
  rewrite(settings: readonly StoredSetting[]): Promise<void>;
  /**
   * Forgets the oldest revisions beyond the retention, at most `step` of them; the newest always
   * stays, and what stays has no gap.
   *
   * @returns how many were forgotten.
   */
  compact(retention: Retention, step: number): Promise<number>;
  close(): Promise<void>;
}
