import { Code } from "@connectrpc/connect";
import { oneAtATime } from "../database/shared-run.ts";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { type Periodic, startPeriodic } from "../periodic.ts";
import { createWaiter } from "../waiter.ts";
import type { AuditFilter, AuditRow, AuditStore } from "./store.ts";

/** Maximum number of rows of one batch, and of rows scanned for it. */
const BATCH = 200;
const SCAN = 10_000;

/** Batch for a reader. */
export interface Progress {
  /** Row up to which the reader is complete. */
  readonly seq: number;
  /** Matching rows up to it. */
  readonly rows: readonly AuditRow[];
}

/** Filter, and the part that the store does not apply. */
interface Selected extends AuditFilter {
  readonly fits: (row: AuditRow) => boolean;
}

/** Streams of new audit rows, whichever process writes them. */
export interface Tail {
  read(selected: Selected, after: number | undefined, signal: AbortSignal): AsyncIterable<Progress>;
  close(): void;
}

/**
 * @param deps.interval interval of polling for the newest row while there are readers, in milliseconds.
 * @param deps.idle interval of bookmarks, in milliseconds.
 */
export function createTail(deps: {
  readonly store: Pick<AuditStore, "head" | "floor" | "rows">;
  readonly interval: number;
  readonly idle: number;
}): Tail {
  const { store, interval, idle } = deps;
  const stopping = new AbortController();
  const waiter = createWaiter();
  let readers = 0;
  let head = 0;
  let job: Periodic | undefined;
  // Reads do not overlap: a slow one would set back the newest row.
  const { run: look } = oneAtATime(async () => {
    const { seq } = await store.head();
    if (seq === head) return;
    head = seq;
    waiter.notify();
  });
  const begin = (): Promise<void> => {
    readers += 1;
    // An unavailable store is polled again the next time.
    job ??= startPeriodic(look, { interval, onError: () => undefined });
    return look();
  };
  const stop = (): void => {
    void job?.stop();
    job = undefined;
  };
  const end = (): void => {
    readers -= 1;
    if (readers === 0) stop();
  };

  async function* read(
    { fits, ...filter }: Selected,
    start: number | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    const waiting = waiter.join([signal, stopping.signal]);
    try {
      await begin();
      let at = start ?? head;
      if (at > head) throw outOfRange(message("AUDIT_ROW_NOT_YET", { row: at, newest: head }));
      let isIdle = true;
      let told = false;
      while (!signal.aborted) {
        if (stopping.signal.aborted) throw unavailable(message("STREAM_STOPPING"));
        if (at > head) throw unavailable(message("AUDIT_DATABASE_OLDER"));
        const before = Math.min(head, at + SCAN) + 1;
        const isNew = at < head;
        const rows = isNew
          ? await store.rows({ ...filter, after: at, before, limit: BATCH, newestFirst: false })
          : [];
        if (isNew || !told) await checkKept(at);
        if (isNew) at = rows.length === BATCH ? (rows.at(-1)?.seq ?? at) : before - 1;
        const wanted = rows.filter(fits);
        if (wanted.length > 0 || (at === head && (isNew || isIdle)) || !told)
          yield { seq: at, rows: wanted };
        told = true;
        if (at === head) isIdle = !(await waiting.next(idle));
      }
    } finally {
      waiting.close();
      end();
    }
  }

  /** Rows may have been deleted before they were read. */
  async function checkKept(after: number): Promise<void> {
    const floor = await store.floor();
    if (after < floor.seq) throw forgotten(after, floor.seq + 1);
  }

  return {
    read,
    close: () => {
      stopping.abort();
      // A reader that is processing a batch ends at its next read, if there is one.
      stop();
    },
  };
}

/** OUT_OF_RANGE: the row after `after` is no longer kept. */
export function forgotten(after: number, oldest: number): ServiceError {
  return outOfRange(message("AUDIT_ROWS_FORGOTTEN", { row: after, oldest }));
}

function outOfRange(text: Text): ServiceError {
  return new ServiceError(Code.OutOfRange, text);
}
