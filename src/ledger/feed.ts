import { Code } from "@connectrpc/connect";
import { mapReadError } from "../database/error.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { createWaiter } from "../waiter.ts";
import { RecentCommits } from "./recent-commits.ts";
import type { LedgerStore, RevisionCommit } from "./store.ts";

/** Default maximum lag of a reader, in bytes; slower ones are dropped. */
const MAX_LAG = 4 * 1024 * 1024;
/** Revisions per read of the history. */
const PAGE = 100;

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
  const recent = new RecentCommits(maxLag);
  const waiter = createWaiter();
  let head = deps.revision;
  /** Number of the databases that were replaced. */
  let epoch = 0;
  let closed = false;
  let readers = 0;

  async function* read(start: number, signal: AbortSignal) {
    const began = epoch;
    if (start > head) throw outOfRange(message("REVISION_NOT_YET", { start, head }));
    let after = start;
    /** Position of this reader in bytes; unknown while it reads from the history. */
    let offset: number | undefined = start === head ? recent.bytes : undefined;
    const waiting = waiter.join([signal]);
    readers += 1;
    try {
      while (!signal.aborted) {
        if (closed) throw unavailable(message("STREAM_STOPPING"));
        if (epoch !== began) throw replaced();
        if (after === head) {
          const isIdle = !(await waiting.next(deps.idle));
          // A waiting reader has no lag, even if commits have arrived.
          offset = recent.bytes;
          if (isIdle && !signal.aborted && !closed && after === head && epoch === began) yield [];
          continue;
        }
        if (offset !== undefined && recent.bytesBeforeNewest - offset > maxLag)
          throw tooSlow(after, maxLag);
        const batch = recent.after(after) ?? (await fromHistory(store, after, head));
        // The rows may come from the replacing database.
        if (epoch !== began) throw replaced();
        const last = batch.at(-1)?.revision ?? after;
        if (last === head) offset = recent.bytes;
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
        if (commit.revision > head + 1) recent.clear();
        recent.add(commit);
        head = commit.revision;
      }
      recent.trim(readers > 0);
      waiter.notify();
    },
    skipTo: (revision) => {
      if (revision <= head) return;
      recent.clear();
      head = revision;
      waiter.notify();
    },
    reset: (revision) => {
      epoch += 1;
      recent.clear();
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

/** @throws OUT_OF_RANGE; UNAVAILABLE. */
async function fromHistory(
  store: Pick<LedgerStore, "commits" | "oldestRevision">,
  after: number,
  upTo: number,
): Promise<readonly RevisionCommit[]> {
  const batch = await mapReadError(store.commits(after, upTo, PAGE));
  if (batch[0]?.revision === after + 1) return batch;
  const oldest = await mapReadError(store.oldestRevision());
  throw outOfRange(message("CHANGES_FORGOTTEN", { after, oldest }));
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
