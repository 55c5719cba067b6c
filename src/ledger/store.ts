import type { AuditOrigin } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { JobSlots } from "../database/job-slot.ts";

/** Name of a record: unique over all records. */
export interface RecordName {
  /** Name of its kind. */
  readonly kind: string;
  readonly key: string;
}

/** Texts by the names of secret parts of a record. */
export type PartTexts = Readonly<Record<string, string>>;

/** Record as stored. */
export interface StoredRecord extends RecordName {
  /** Open part; null: the record has secret parts only. */
  readonly body: string | null;
  /** Short text that describes the record without its content. */
  readonly attributes: string;
  /** Secret parts, each sealed by itself if there is a sealing key. */
  readonly secrets: PartTexts;
  /** Order among records that were added later; 0: none. */
  readonly position: number;
  /** Revision of the last write. */
  readonly revision: number;
}

/** Change of one record in one revision, as stored in the history. */
export interface StoredChange extends RecordName {
  /** Open part before; null: the record did not exist, or had secret parts only. */
  readonly oldBody: string | null;
  readonly newBody: string | null;
  /** Attributes before; null: the record did not exist, or its kind keeps none for it. */
  readonly oldAttributes: string | null;
  readonly newAttributes: string | null;
  /** Keyed hashes of the secret parts before; null: there were none. */
  readonly oldHashes: PartTexts | null;
  readonly newHashes: PartTexts | null;
  /** Whether the caller must not learn which secret parts are equal. Default: false. */
  readonly isHidden?: boolean;
}

/** The caller that changed records, its call, and its reason. */
export interface RevisionOrigin extends AuditOrigin {
  /** The client's reason; may be empty. */
  readonly reason: string;
}

/** Committed change of records. */
export interface StoredRevision extends RevisionOrigin {
  readonly revision: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  /**
   * Random text of the commit: after a restore, another commit may have the same number. Absent:
   * none was given.
   */
  readonly mark?: string;
}

/** Revision to be committed, with its changes. */
export interface RevisionCommit extends StoredRevision {
  readonly changes: readonly StoredChange[];
}

/** Complete stored state at one revision. */
export interface StoredState {
  readonly revision: number;
  /** Mark of the revision; absent: it has none, or there is no revision. */
  readonly mark?: string | undefined;
  readonly records: readonly StoredRecord[];
}

/** Commits of other processes after a revision. */
export interface StoredDelta {
  readonly revision: number;
  /** As in StoredState. */
  readonly mark?: string | undefined;
  readonly changed: readonly StoredRecord[];
  readonly deleted: readonly RecordName[];
  /** Revisions in order; undefined: too many for memory. */
  readonly commits: readonly RevisionCommit[] | undefined;
}

/** Filter for the revisions of a page. All given members must match. */
export interface RevisionFilter {
  /** Exclusive upper bound of the revision. */
  readonly before?: number | undefined;
  readonly record?: RecordName | undefined;
  readonly actor?: string | undefined;
  /** Inclusive lower bound of the time, in milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  /** Exclusive upper bound of the time. */
  readonly until?: number | undefined;
  readonly limit: number;
}

/** Change without its content. */
export type ChangeHeader = Pick<StoredChange, "kind" | "key" | "oldAttributes" | "newAttributes">;

/** Revision with the names of the records that it changed. */
export interface RevisionSummary extends Omit<StoredRevision, "mark"> {
  readonly changes: readonly ChangeHeader[];
}

/** Key, and the revision after which its first change is searched. */
export interface KeyAfter {
  readonly key: string;
  readonly after: number;
}

/** First change of a key after a revision. */
export interface FirstChange extends KeyAfter {
  readonly change: StoredChange;
}

/** Retention of the history. */
export interface Retention {
  /** Maximum number of revisions. */
  readonly count: number;
  /** Older revisions are deleted: milliseconds since 1970 UTC. */
  readonly notBefore: number;
}

/**
 * Rows written by one transaction. All set and deleted records are also in the revisions' changes.
 */
export interface StoredWrite {
  readonly revisions: readonly RevisionCommit[];
  readonly upserts: readonly StoredRecord[];
  readonly deletes: readonly RecordName[];
  /** Audit entries of the change. */
  readonly audit: readonly AuditEntry[];
}

/**
 * Write transaction: it holds the write lock, so that no other process commits while it is open.
 */
export interface LedgerTransaction {
  /** Current revision of the database. */
  revision(): Promise<number>;
  /** Commits after a revision; undefined when a full load is needed. */
  delta(after: number): Promise<StoredDelta | undefined>;
  load(): Promise<StoredState>;
  write(rows: StoredWrite): Promise<void>;
}

/** Records with replaced content, and their audit entries. */
export interface Rewrite {
  readonly records: readonly StoredRecord[];
  readonly audit: readonly AuditEntry[];
}

/** Replacement of the hashes of secret values. */
export interface Rehash {
  /** Prefix of hashes that are kept. */
  readonly form: string;
  /** Returns the replacement of a hash; it begins with `form`. */
  readonly renew: (hash: string) => string;
  /** Returns the audit entry for a number of replaced hashes. */
  readonly audit: (count: number) => readonly AuditEntry[];
}

/**
 * Store of records and their history. Methods reject only with a StoreError. Each implementation
 * passes the contract suite in test/store.
 */
export interface LedgerStore extends JobSlots {
  /**
   * Random id of this database, which distinguishes revisions of different databases. It changes
   * when a standby is promoted, because revision numbers may be reused then.
   */
  readonly databaseId: string;
  /**
   * Random key of this database for the hashes of secrets in its history. It is stored in the
   * clear; with a sealing key it is the salt of a key derived from the sealing key.
   */
  readonly fingerprintKey: Buffer;
  /**
   * Reports whether another connection may have committed since the last call of load, delta or
   * transact. Synchronous and cheap: it runs for every call with a token. It becomes true soon
   * after such a commit, at the latest when seenEverywhere has resolved for the commit.
   */
  changedElsewhere(): boolean;
  /**
   * Sets the one listener that is called as soon as changedElsewhere turns true, if the database
   * sends notifications; otherwise callers poll.
   */
  onNews(listener: () => void): void;
  /**
   * Resolves when every other process uses this revision or has changedElsewhere true, so that a
   * revoked right is revoked everywhere. Takes at most a second unless another process fails.
   */
  seenEverywhere(revision: number): Promise<void>;
  load(): Promise<StoredState>;
  /** Commits after a revision; undefined when a full load is needed. */
  delta(after: number): Promise<StoredDelta | undefined>;
  /**
   * Runs work in one write transaction and resolves after its commit is on disk. When work rejects,
   * nothing is written. Waits up to a few seconds for another process's lock.
   */
  transact<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
  /**
   * Milliseconds since the last answer if the database is unavailable, when the state in memory may
   * be outdated; 0: it is available.
   */
  awayFor(): number;
  /** Note for the operator about a condition that is not an error; undefined: none. */
  note(): string | undefined;
  /**
   * Reason for which nothing can be saved although the database can be read, for anyone: without
   * paths. Undefined: none.
   */
  problem(): string | undefined;
  /** Mark of a revision, empty if it has none; undefined: the history does not have the revision. */
  markOf(revision: number): Promise<string | undefined>;
  /** Oldest revision in the history; 0: none. */
  oldestRevision(): Promise<number>;
  /** Page of the history, newest first. */
  listRevisions(filter: RevisionFilter): Promise<readonly RevisionSummary[]>;
  /** Revisions in a range with their changes, oldest first, at most `limit`. */
  commits(after: number, upTo: number, limit: number): Promise<readonly RevisionCommit[]>;
  /**
   * Combined change of each record in a range of revisions: from before the first to after the last
   * change.
   *
   * @param kind only records of this kind. Default: all.
   */
  changesBetween(after: number, upTo: number, kind?: string): Promise<readonly StoredChange[]>;
  /** Returns those of at most 1,000 keys of a kind that have changes in the history. */
  knownKeys(kind: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * First change of each key of a kind after its revision and up to another one; keys without such
   * a change are omitted. One pass over the history, independent of the number of keys.
   */
  firstChanges(
    kind: string,
    asked: readonly KeyAfter[],
    upTo: number,
  ): Promise<readonly FirstChange[]>;
  /**
   * Last revision by an actor that changed each key of a kind, after the key's revision and up to another
   * one; keys without one are omitted.
   */
  lastChangesBy(
    kind: string,
    actor: string,
    asked: readonly KeyAfter[],
    upTo: number,
  ): Promise<ReadonlyMap<string, number>>;
  /**
   * Rewrites stored content without a revision, for sealing it again. The database files contain the
   * replaced content until eraseReplaced.
   *
   * @param change receives all records, in a write transaction; returns those with new content and
   *   their audit entries.
   * @returns the stored state.
   */
  rewrite(change: (records: readonly StoredRecord[]) => Rewrite): Promise<StoredState>;
  /**
   * Replaces hashes of secrets in the history and in the state of sites, in one transaction and
   * without a revision. The database files contain the replaced hashes until eraseReplaced.
   *
   * @returns the number of replaced hashes.
   */
  rehash(rehash: Rehash): Promise<number>;
  /**
   * Erases replaced values of all earlier rewrites, by any process, from the database files.
   *
   * @returns the reason for which values may remain, as a sentence for the operator; undefined:
   *   all are erased.
   */
  eraseReplaced(): Promise<string | undefined>;
  /**
   * Deletes the oldest revisions beyond the retention, at most `step`. The newest always stays, and
   * the rest has no gaps.
   *
   * @returns the number of deleted revisions.
   */
  compact(retention: Retention, step: number): Promise<number>;
  close(): Promise<void>;
}
