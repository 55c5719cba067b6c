import { seenFailure, writeFailure } from "../database/error.ts";
import { createReplica, oncePerTick } from "../database/replica.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { type Codec, createCodec } from "./codec.ts";
import type { AnyRules } from "./kind.ts";
import type { Limit } from "./limit.ts";
import { loadSealed } from "./sealing.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import type {
  LedgerStore,
  RecordName,
  RevisionCommit,
  StoredChange,
  StoredDelta,
  StoredState,
} from "./store.ts";
import {
  type Changed,
  type ChangeOptions,
  type ChangeOrigin,
  type Committed,
  createWriter,
  type Decide,
} from "./writer.ts";

export interface LedgerDeps {
  readonly store: LedgerStore;
  /** All kinds of records in the database. */
  readonly kinds: readonly AnyRules[];
  /** Seals secret parts in the database. */
  readonly sealer: Sealer;
  /** Hashes secret parts for the history. */
  readonly fingerprint: Fingerprint;
  /** Bounds of all records together. Default: none. */
  readonly limits?: readonly Limit[];
  /** Called after each transaction, with its duration in milliseconds. Default: no-op. */
  readonly onTransaction?: ((duration: number) => void) | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called when the database cannot be read; reads continue from memory. */
  readonly onReadFailure: (error: unknown) => void;
}

/** Maximum length of a reason, in characters. */
const MAX_REASON = 500;

/** Called for every commit of any process on the database, in order, after it is visible. */
interface CommitListener {
  append(commits: readonly RevisionCommit[]): void;
  /** Called when commits are not passed, because there were too many; the history has them. */
  skipTo(revision: number): void;
  /** Called when the database was replaced by an older state. */
  reset(revision: number): void;
}

/** Records of all kinds in memory, and the only way to change them. */
export interface Ledger {
  /** All records at the newest revision known to this process. */
  snapshot(): Snapshot;
  /**
   * Newest revision of any process on this database. Called for every call with a token, so that a right
   * that was ended elsewhere is refused at once. Calls of one event-loop tick share one check.
   */
  fresh(): Promise<Snapshot>;
  /** Like fresh, without sharing: synchronous if no process has committed. @throws as fresh. */
  freshUnshared(): void | Promise<void>;
  /** Reads commits of other processes unconditionally. @throws as fresh. */
  refresh(): Promise<Snapshot>;
  /**
   * Changes records of any kinds in one transaction, as one revision. An urgent change, such as the
   * end of a right, resolves when every process has it.
   *
   * @throws as decide; INVALID_ARGUMENT for a too long reason; UNAVAILABLE or RESOURCE_EXHAUSTED
   *   when the database cannot be written.
   */
  change<T>(origin: ChangeOrigin, decide: Decide<T>, options?: ChangeOptions): Promise<Changed<T>>;
  /** Name of a record where records of all kinds are listed. */
  nameOf(record: RecordName): string;
  /** Sets the only listener, the feed. */
  listen(listener: CommitListener): void;
  /** Invalidates cached replies after a change other than a commit. */
  invalidateReplies(): void;
}

/**
 * Loads the records and starts the ledger. Secret parts that are unsealed or sealed with an older key
 * are sealed with the first key.
 *
 * @throws ServiceError when a sealed value cannot be opened; StoreError.
 */
export async function createLedger(deps: LedgerDeps): Promise<Ledger> {
  const { store, kinds } = deps;
  const codec = createCodec(deps);
  const restored = (state: StoredState) => restoreSnapshot(state, kinds, codec);
  let snapshot = restored(await loadSealed({ ...deps, codec }));
  let listener: CommitListener | undefined;
  let { databaseId } = store;

  const catchUp = (news: StoredDelta | StoredState): Snapshot => {
    if (!("changed" in news)) {
      const isOther = news.revision < snapshot.revision || store.databaseId !== databaseId;
      databaseId = store.databaseId;
      snapshot = restored(news);
      if (isOther) listener?.reset(news.revision);
      else listener?.skipTo(news.revision);
      return snapshot;
    }
    // A read that began earlier may finish later.
    if (news.revision <= snapshot.revision) return snapshot;
    snapshot = withDelta(snapshot, news, codec);
    if (news.commits === undefined) listener?.skipTo(news.revision);
    else listener?.append(news.commits);
    return snapshot;
  };

  const publish = (committed: readonly Committed[]): void => {
    snapshot = withCommitted(snapshot, committed);
    listener?.append(committed.map(({ commit }) => commit));
  };

  const { fresh, refresh } = createReplica({
    read: async () => void catchUp((await store.delta(snapshot.revision)) ?? (await store.load())),
    isStale: () => store.changedElsewhere(),
    onFailure: deps.onReadFailure,
  });
  const now = (): Snapshot => snapshot;

  const writer = createWriter({
    store,
    codec,
    limits: deps.limits ?? [],
    onTransaction: deps.onTransaction ?? (() => undefined),
    now: deps.now,
    snapshot: () => snapshot,
    catchUp,
    publish,
  });

  const isUrgent = (change: StoredChange): boolean => codec.rules(change.kind).isUrgent(change);

  return {
    snapshot: () => snapshot,
    freshUnshared: fresh,
    fresh: oncePerTick(() => fresh()?.then(now) ?? snapshot),
    refresh: () => refresh().then(now),
    change: async (origin, decide, options) => {
      checkReason(origin.reason);
      let failure = writeFailure;
      try {
        const changed = await writer.change(origin, decide, options);
        failure = seenFailure;
        if (options?.dryRun !== true && changed.commit?.changes.some(isUrgent))
          await store.seenEverywhere(changed.revision);
        return changed;
      } catch (error) {
        throw failure(error);
      }
    },
    nameOf: codec.nameOf,
    listen: (to) => {
      listener = to;
    },
    invalidateReplies: () => {
      snapshot = snapshot.with(snapshot.revision, []);
    },
  };
}

/** Applies what other processes have committed to a snapshot. */
function withDelta(
  snapshot: Snapshot,
  { revision, changed, deleted, mark = "" }: StoredDelta,
  { rules, fromStored }: Pick<Codec, "rules" | "fromStored">,
): Snapshot {
  const stored = changed.map((record) => ({
    kind: rules(record.kind).kind,
    key: record.key,
    item: fromStored(record),
  }));
  const removed = deleted.map(({ kind: name, key }) => {
    const { kind, absent } = rules(name);
    return { kind, key, item: absent(key) };
  });
  return snapshot.with(revision, [...stored, ...removed], mark);
}

/** Applies commits of this process to a snapshot, except for those that it contains already. */
function withCommitted(snapshot: Snapshot, committed: readonly Committed[]): Snapshot {
  const news = committed.filter(({ commit }) => commit.revision > snapshot.revision);
  const last = news.at(-1)?.commit;
  if (last === undefined) return snapshot;
  const items = news.flatMap((each) => each.items);
  return snapshot.with(
    last.revision,
    items.map(({ kind, key, after }) => ({ kind, key, item: after })),
    last.mark ?? "",
  );
}

function checkReason(reason: string): void {
  // The number of characters is at most that of code units.
  if (reason.length <= MAX_REASON) return;
  const length = countCharacters(reason);
  if (length > MAX_REASON)
    throw invalid([
      {
        field: "reason",
        description: message("REASON_TOO_LONG", { length, most: MAX_REASON }),
      },
    ]);
}

/**
 * Number of Unicode characters of a text, counted without an array: a request can contain millions.
 */
function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/**
 * Creates the first snapshot of a process, or the one after the database was replaced. Known records
 * come first, in their order, with or without a row.
 */
function restoreSnapshot(
  { revision, mark, records }: StoredState,
  kinds: readonly AnyRules[],
  { fromStored }: Pick<Codec, "fromStored">,
): Snapshot {
  const byKind = Map.groupBy(records, ({ kind }) => kind);
  return createSnapshot(
    revision,
    kinds.map((rules) => {
      const stored = new Map(byKind.get(rules.kind.name)?.map((record) => [record.key, record]));
      const known = rules.known.map((key) => {
        const record = stored.get(key);
        stored.delete(key);
        return record === undefined ? rules.absent(key) : fromStored(record);
      });
      const items = [...known, ...[...stored.values()].map(fromStored)];
      return { rules, items: items.filter((item) => item !== undefined) };
    }),
    mark,
  );
}
