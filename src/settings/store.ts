import type { AuditOrigin } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { JobSlots } from "../database/job.ts";

/** A setting as the store keeps it. */
export interface StoredSetting {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
  /**
   * `known`: defined by the program when it was written. `custom`: made by a client. `mount`: no setting,
   * but a mount or one of its secret items (`mount-key.ts`).
   */
  readonly origin: "known" | "custom" | "mount";
  /** Order of custom settings among themselves; 0 for known ones. */
  readonly position: number;
  /** The revision that wrote it last. */
  readonly revision: number;
}

/** Change of one key in one revision, as stored in the history. */
export interface StoredChange {
  readonly key: string;
  /** Null: the setting did not exist, or its value is secret and stored as a hash. */
  readonly oldValue: string | null;
  readonly newValue: string | null;
  /** Keyed hashes of secret values. */
  readonly oldHash: string | null;
  readonly newHash: string | null;
  /** JSON of a custom setting's definition. */
  readonly oldDefinition: string | null;
  readonly newDefinition: string | null;
}

/** The caller that changed settings, its call, and its reason. */
export interface RevisionOrigin extends AuditOrigin {
  /** The client's reason; may be empty. */
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

/** Commits of other processes after a revision. */
export interface StoredDelta {
  readonly revision: number;
  readonly changed: readonly StoredSetting[];
  readonly deleted: readonly string[];
  /** Each of the revisions, in order; undefined when there are too many to hold at once. */
  readonly commits: readonly RevisionCommit[] | undefined;
}

/** Filter for the revisions of a page. All given members must match. */
export interface RevisionFilter {
  /** Only older ones than this. */
  readonly before?: number | undefined;
  readonly key?: string | undefined;
  readonly actor?: string | undefined;
  /** At or after, in milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  /** Exclusive upper bound of the time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

/** Change without its values. */
type ChangedKey = Pick<StoredChange, "key" | "oldDefinition" | "newDefinition">;

/** A revision with what it changed, by key. */
export interface RevisionSummary extends StoredRevision {
  readonly changes: readonly ChangedKey[];
}

/** A key with the revision after which its first change is looked for. */
export interface KeyAfter {
  readonly key: string;
  readonly after: number;
}

/** The first change of a key after a revision. */
export interface FirstChange extends KeyAfter {
  readonly change: StoredChange;
}

/** Retention of the history. */
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
  /** Audit entries of the change. */
  readonly audit: readonly AuditEntry[];
}

/**
 * Write transaction: it holds the write lock, so that no other process commits while it is open.
 */
export interface SettingTransaction {
  /** The revision in the database now. */
  revision(): Promise<number>;
  /** Commits after a revision; undefined when a full load is needed. */
  delta(after: number): Promise<StoredDelta | undefined>;
  load(): Promise<StoredState>;
  write(rows: StoredWrite): Promise<void>;
}

/** Settings with replaced values, and their audit entries. */
export interface Rewrite {
  readonly settings: readonly StoredSetting[];
  readonly audit: readonly AuditEntry[];
}

/** Replacement of the hashes of secret values. */
export interface Rehash {
  /** Begins the hashes that stay. */
  readonly form: string;
  /** The hash in place of another one; it begins with `form`. */
  readonly renew: (hash: string) => string;
  /** The audit entry, if there were any. */
  readonly audit: (count: number) => readonly AuditEntry[];
}

/**
 * Keeps settings and their history. Every method rejects with a StoreError and nothing else.
 * Each implementation passes the contract suite in test/store.
 */
export interface SettingStore extends JobSlots {
  /**
   * Random id of this database, which tells revisions of two databases apart. It changes when a
   * standby is promoted, because that may reuse numbers.
   */
  readonly databaseId: string;
  /**
   * Random key of this database for the hashes of secrets in its history. It is stored in the
   * clear: with a sealing key it is the salt of the key derived from that.
   */
  readonly fingerprintKey: Buffer;
  /**
   * Reports whether another connection may have committed since the last call of load, delta or
   * transact. Synchronous and cheap: it runs for every call with a token. It becomes true soon
   * after such a commit, and at the latest when seenEverywhere has resolved for it.
   */
  changedElsewhere(): boolean;
  /**
   * Sets the one listener that is called as soon as changedElsewhere turns true, if the database
   * sends notifications; otherwise callers poll.
   */
  onNews(listener: () => void): void;
  /**
   * Resolves when no other process can go by an older revision without changedElsewhere being true
   * there: what ends a right has ended it everywhere then. Waits for a second at most, unless another
   * process is in trouble.
   */
  seenEverywhere(revision: number): Promise<void>;
  load(): Promise<StoredState>;
  /** Commits after a revision; undefined when a full load is needed. */
  delta(after: number): Promise<StoredDelta | undefined>;
  /**
   * Runs work in one write transaction and resolves after its commit is on disk. When work rejects,
   * nothing is written. Waits up to a few seconds for another process's lock.
   */
  transact<T>(work: (transaction: SettingTransaction) => Promise<T>): Promise<T>;
  /**
   * Milliseconds since the database has last answered, where it does not answer at the moment, so that
   * what is in memory may be older than what is stored; 0: it answers.
   */
  awayFor(): number;
  /** Note for the operator about a condition that is not an error; undefined: none. */
  note(): string | undefined;
  /** The oldest revision that the history has; 0: none. */
  oldestRevision(): Promise<number>;
  /** A page of the history, newest first. */
  listRevisions(filter: RevisionFilter): Promise<readonly RevisionSummary[]>;
  /** Revisions with their changes, oldest first: those after one, up to another, at most `limit`. */
  commits(after: number, upTo: number, limit: number): Promise<readonly RevisionCommit[]>;
  /**
   * Changes of each key in a range of revisions, as one change: from before the first to after the
   * last.
   *
   * @param prefix only of keys that begin so, without `%` and `_`. Default: all.
   */
  changesBetween(after: number, upTo: number, prefix?: string): Promise<readonly StoredChange[]>;
  /** Returns the keys, out of at most 1,000, with changes in the history. */
  knownKeys(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * First change of each key after its revision and up to another one; keys without one are left
   * out. One pass over the history, independent of the number of keys.
   */
  firstChanges(asked: readonly KeyAfter[], upTo: number): Promise<readonly FirstChange[]>;
  /**
   * Rewrites stored values without a revision, for sealing them again. The files keep the replaced
   * values until eraseReplaced.
   *
   * @param change maps all settings, in a write transaction, to those with a new value and their
   * audit entries.
   * @returns the stored state.
   */
  rewrite(change: (settings: readonly StoredSetting[]) => Rewrite): Promise<StoredState>;
  /**
   * Replaces hashes of secrets in the history and in the state of sites, in one transaction and without
   * a revision. The files have what stood there until eraseReplaced.
   *
   * @returns how many were replaced.
   */
  rehash(rehash: Rehash): Promise<number>;
  /**
   * Takes out of the files what a rewrite, of any process at any time, has replaced.
   *
   * @returns why it may still be read there, as a sentence for a person; undefined: it is gone.
   */
  eraseReplaced(): Promise<string | undefined>;
  /**
   * Forgets the oldest revisions beyond the retention, at most `step` of them; the newest always
   * stays, and what stays has no gap.
   *
   * @returns how many were forgotten.
   */
  compact(retention: Retention, step: number): Promise<number>;
  close(): Promise<void>;
}
