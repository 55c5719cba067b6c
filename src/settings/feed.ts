import { Code } from "@connectrpc/connect";
import { readFailure } from "../database/store-failure.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { pauseFor } from "../periodic.ts";
import { createWaiter } from "../waiter.ts";
import type { RevisionCommit, SettingStore } from "./store.ts";

/** Default limit of bytes that a reader may fall behind before it is dropped. */
const MAX_LAG = 4 * 1024 * 1024;
/** Bytes kept without readers, for clients that reconnect at once. */
const KEPT_UNREAD = 256 * 1024;
/** Revisions that are read from the history at once. */
const PAGE = 100;

/** A commit in the feed. It is the same object for every reader. */
interface Entry {
  readonly commit: RevisionCommit;
  /** Bytes of all commits before this one, since the feed began. */
  readonly offset: number;
}

/** All commits of every process on this database, in order, for those who watch. */
export interface Feed {
  /** The newest revision. */
  readonly head: number;
  /** Adds commits, oldest first; those that are already there are passed over. */
  append(commits: readonly RevisionCommit[]): void;
  /** The state went on to a revision without its commits being known: they are in the history. */
  skipTo(revision: number): void;
  /** Called when the database was replaced: every reader must start again. */
  reset(revision: number): void;
  /** The service stops: every reader ends with UNAVAILABLE. */
  close(): void;
  /**
   * Commits after a revision, in batches, without end. A batch is never empty, except once each
   * idle time: then nothing has happened.
   *
   * @throws OUT_OF_RANGE when the history does not reach back so far, or the revision is yet to
   * come; RESOURCE_EXHAUSTED when the reader is too slow; UNAVAILABLE after reset.
   */
  read(after: number, signal: AbortSignal): AsyncIterable<readonly RevisionCommit[]>;
}

/**
 * @param deps.idle after so many milliseconds without a commit a reader gets an empty batch.
 * @param deps.maxLag how far a reader may fall behind before it is dropped, in bytes of commits.
 *   Default 4 MiB.
 */
export function createFeed(deps: {
  readonly store: Pick<SettingStore, "commits" | "oldestRevision">;
  readonly revision: number;
  readonly idle: number;
  readonly maxLag?: number;
}): Feed {
  const { store, maxLag = MAX_LAG } = deps;
  // More than a reader may lag, so that only dropped ones miss it; and what trimming leaves.
  const [maxKept, trimmedTo] = [maxLag * 1.5, maxLag * 1.25];
  let entries: Entry[] = [];
  let head = deps.revision;
  let bytes = 0;
  /** Bytes of all commits except the newest: one large commit does not drop a reader. */
  let beforeHead = 0;
  let epoch = 0;
  let closed = false;
  const waiter = createWaiter();
  let readers = 0;

  const trim = (): void => {
    const [most, left] = readers > 0 ? [maxKept, trimmedTo] : [KEPT_UNREAD, KEPT_UNREAD / 2];
    if (bytes - (entries[0]?.offset ?? bytes) <= most) return;
    // Some more than must go: dropping copies what stays, and is not to be done at every commit.
    const keep = entries.findIndex(({ offset }) => bytes - offset <= left);
    if (keep > 0) entries = entries.slice(keep);
    else if (keep < 0) entries = [];
  };

  const fromMemory = (after: number): readonly RevisionCommit[] | undefined => {
    const first = entries[0]?.commit.revision;
    if (first === undefined || first > after + 1) return undefined;
    return entries.slice(after + 1 - first).map(({ commit }) => commit);
  };

  async function* read(start: number, signal: AbortSignal) {
    const began = epoch;
    if (start > head) throw outOfRange(message("REVISION_NOT_YET", { start, head }));
    let after = start;
    /** Bytes up to where this reader is; unknown while it reads from the history. */
    let offset: number | undefined = start === head ? bytes : undefined;
    const waiting = waiter.join([signal]);
    readers += 1;
    try {
      while (!signal.aborted) {
        if (closed) throw unavailable(message("STREAM_STOPPING"));
        if (epoch !== began) throw replaced();
        if (after === head) {
          const isIdle = !(await waiting.next(deps.idle));
          // A reader that waits is not behind, however much has come.
          offset = bytes;
          if (isIdle && !signal.aborted && !closed && after === head && epoch === began) yield [];
          continue;
        }
        if (offset !== undefined && beforeHead - offset > maxLag) throw tooSlow(after, maxLag);
        const batch = fromMemory(after) ?? (await fromHistory(store, after, head).catch(tell));
        // The rows may come from the replacing database.
        if (epoch !== began) throw replaced();
        const last = batch.at(-1)?.revision ?? after;
        if (last === head) offset = bytes;
        after = last;
        yield batch;
      }
    } finally {
      readers -= 1;
      waiting.close();
    }
  }

  return {
    get head() {
      return head;
    },
    append: (commits) => {
      for (const commit of commits) {
        if (commit.revision <= head) continue;
        if (commit.revision > head + 1) entries = [];
        entries.push({ commit, offset: bytes });
        beforeHead = bytes;
        bytes += sizeOf(commit);
        head = commit.revision;
      }
      trim();
      waiter.notify();
    },
    skipTo: (revision) => {
      if (revision <= head) return;
      entries = [];
      head = revision;
      waiter.notify();
    },
    reset: (revision) => {
      epoch += 1;
      entries = [];
      head = revision;
      waiter.notify();
    },
    close: () => {
      closed = true;
      waiter.notify();
    },
    read,
  };
}

function tell(error: unknown): never {
  throw readFailure(error);
}

async function fromHistory(
  store: Pick<SettingStore, "commits" | "oldestRevision">,
  after: number,
  upTo: number,
): Promise<readonly RevisionCommit[]> {
  const batch = await store.commits(after, upTo, PAGE);
  if (batch[0]?.revision === after + 1) return batch;
  const oldest = await store.oldestRevision();
  throw outOfRange(message("CHANGES_FORGOTTEN", { after, oldest }));
}

/** About what a commit takes in memory and on the wire. */
function sizeOf({ changes }: RevisionCommit): number {
  const text = (value: string | null) => value?.length ?? 0;
  return changes.reduce(
    (sum, { key, oldValue, newValue, oldDefinition, newDefinition }) =>
      sum +
      100 +
      key.length +
      text(oldValue) +
      text(newValue) +
      text(oldDefinition) +
      text(newDefinition),
    200,
  );
}

function outOfRange(text: Message): ServiceError {
  return new ServiceError(Code.OutOfRange, text);
}

function tooSlow(after: number, maxLag: number): ServiceError {
  return new ServiceError(
    Code.ResourceExhausted,
    message("WATCHER_TOO_SLOW", { kibibytes: Math.round(maxLag / 2 ** 10), after }),
  );
}

function replaced(): ServiceError {
  return unavailable(message("DATABASE_REPLACED"));
}

/** Between two attempts to read a feed, in milliseconds. */
const AGAIN = 100;

/**
 * Reads a feed from its head on until the signal aborts, again after each failure.
 *
 * @param onCommits receives each batch, and undefined after a gap: too many commits at once, or another
 *   database in place of this one.
 * @param onBegin receives the revision from which it reads, at the beginning and after each gap.
 */
export async function followFeed(
  feed: Pick<Feed, "head" | "read">,
  signal: AbortSignal,
  onCommits: (commits: readonly RevisionCommit[] | undefined) => void,
  onBegin: (revision: number) => void = () => undefined,
): Promise<void> {
  while (!signal.aborted) {
    try {
      onBegin(feed.head);
      for await (const commits of feed.read(feed.head, signal)) onCommits(commits);
      return;
    } catch {
      await pauseFor(AGAIN, signal);
      if (!signal.aborted) onCommits(undefined);
    }
  }
}
