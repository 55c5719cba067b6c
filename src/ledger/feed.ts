import { Code } from "@connectrpc/connect";
import { readFailure } from "../database/error.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { pauseFor } from "../pause.ts";
import { createWaiter } from "../waiter.ts";
import type { LedgerStore, RevisionCommit } from "./store.ts";

/** Default maximum lag of a reader, in bytes; slower ones are dropped. */
const MAX_LAG = 4 * 1024 * 1024;
/** Bytes kept without readers, for reconnecting clients. */
const KEPT_UNREAD = 256 * 1024;
/** Revisions per read of the history. */
const PAGE = 100;

/** Commit in the feed; the same object for every reader. */
interface Entry {
  readonly commit: RevisionCommit;
  /** Bytes of all earlier commits of the feed. */
  readonly offset: number;
}

/** Ordered stream of the commits of all processes on this database, for watchers. */
export interface Feed {
  /** The newest revision. */
  readonly head: number;
  /** Adds commits, oldest first; known ones are skipped. */
  append(commits: readonly RevisionCommit[]): void;
  /** Advances to a revision whose commits are in the history only. */
  skipTo(revision: number): void;
  /** Called when the database was replaced: every reader must start again. */
  reset(revision: number): void;
  /** Ends every reader with UNAVAILABLE, because the service stops. */
  close(): void;
  /**
   * Endless stream of batches of commits after a revision. An empty batch is sent after each idle
   * interval.
   *
   * @throws OUT_OF_RANGE when the history no longer has the next revision, or `after` does not exist
   *   yet; RESOURCE_EXHAUSTED when the reader is too slow; UNAVAILABLE after reset.
   */
  read(after: number, signal: AbortSignal): AsyncIterable<readonly RevisionCommit[]>;
}

/**
 * @param deps.idle idle interval, in milliseconds.
 * @param deps.maxLag maximum lag of a reader, in bytes of commits. Default: 4 MiB.
 */
export function createFeed(deps: {
  readonly store: Pick<LedgerStore, "commits" | "oldestRevision">;
  readonly revision: number;
  readonly idle: number;
  readonly maxLag?: number;
}): Feed {
  const { store, maxLag = MAX_LAG } = deps;
  // Maximum of kept bytes, above the maximum lag, and bytes that trimming keeps.
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
    // Drops more than necessary, because each trim copies the rest.
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
    /** Position of this reader in bytes; unknown while it reads from the history. */
    let offset: number | undefined = start === head ? bytes : undefined;
    const waiting = waiter.join([signal]);
    readers += 1;
    try {
      while (!signal.aborted) {
        if (closed) throw unavailable(message("STREAM_STOPPING"));
        if (epoch !== began) throw replaced();
        if (after === head) {
          const isIdle = !(await waiting.next(deps.idle));
          // A waiting reader has no lag, even if commits have arrived.
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
  store: Pick<LedgerStore, "commits" | "oldestRevision">,
  after: number,
  upTo: number,
): Promise<readonly RevisionCommit[]> {
  const batch = await store.commits(after, upTo, PAGE);
  if (batch[0]?.revision === after + 1) return batch;
  const oldest = await store.oldestRevision();
  throw outOfRange(message("CHANGES_FORGOTTEN", { after, oldest }));
}

/** Approximate size of a commit in memory and on the wire. */
function sizeOf({ changes }: RevisionCommit): number {
  const size = (text: string | null) => text?.length ?? 0;
  return changes.reduce(
    (sum, { key, oldBody, newBody, oldAttributes, newAttributes }) =>
      sum +
      100 +
      key.length +
      size(oldBody) +
      size(newBody) +
      size(oldAttributes) +
      size(newAttributes),
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

/** Pause before another attempt to read a feed, in milliseconds. */
const AGAIN = 100;

/**
 * Reads a feed from its head until the signal aborts, with retries after failures.
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
