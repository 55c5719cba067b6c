import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createWaiter } from "../waiter.ts";
import { forgotten, outOfRange } from "./failure.ts";
import { NewestRows } from "./newest-rows.ts";
import type { ReadRow } from "./row-etag.ts";
import { type AuditSelection, isSelected, type Selected, selectionOf } from "./selection.ts";
import { type AuditPosition, type AuditRow, type AuditStore, MAX_SCANNED } from "./store.ts";

/** Maximum number of rows of one batch of new rows. */
const BATCH = 200;
/** Maximum number of batches that streams share until the next row. */
const MAX_SHARED = 256;

/** Batch for a reader, with the row up to which the reader is complete. */
export interface Progress extends AuditPosition {
  /** Matching rows up to it. */
  readonly rows: readonly AuditRow[];
}

export interface AuditTailDeps {
  readonly store: Pick<AuditStore, "head" | "floor" | "rows">;
  /** Interval of polling for the newest row while there are readers, in milliseconds. */
  readonly interval: number;
  /** Interval of bookmarks, in milliseconds. */
  readonly idle: number;
}

/**
 * Streams of audit rows as they are written. New rows are read once for all streams, which filter them
 * in memory; older ones are read by each. Streams with one selection share the batches.
 */
export class AuditTail {
  readonly #store: AuditTailDeps["store"];
  readonly #idle: number;
  readonly #stopping = new AbortController();
  readonly #waiter = createWaiter();
  readonly #newest: NewestRows;
  /** Batches by their first row and selection. */
  readonly #shared = new Map<string, Promise<Progress>>();

  constructor({ store, interval, idle }: AuditTailDeps) {
    this.#store = store;
    this.#idle = idle;
    this.#newest = new NewestRows({
      store,
      interval,
      onChange: () => {
        this.#shared.clear();
        this.#waiter.notify();
      },
    });
  }

  /** Stream of the rows after one, as `watch` of the service. */
  async *read(
    selection: AuditSelection,
    start: ReadRow | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    const selected = selectionOf(selection);
    const key = JSON.stringify(selection);
    const newest = this.#newest;
    const waiting = this.#waiter.join([signal, this.#stopping.signal]);
    try {
      await newest.join();
      let at = start?.seq ?? newest.head.seq;
      await this.#checkStart(at, start?.hash);
      let isIdle = true;
      let isFirst = true;
      while (!signal.aborted) {
        if (this.#stopping.signal.aborted) throw unavailable(message("STREAM_STOPPING"));
        if (at > newest.head.seq) throw unavailable(message("AUDIT_DATABASE_OLDER"));
        const isNew = at < newest.head.seq;
        const batch = await this.#batchAfter(at, key, selected);
        at = batch.seq;
        const isBookmark = at === newest.head.seq && (isNew || isIdle);
        if (batch.rows.length > 0 || isBookmark || isFirst) yield batch;
        isFirst = false;
        if (at === newest.head.seq) isIdle = !(await waiting.next(this.#idle));
      }
    } finally {
      waiting.close();
      newest.leave();
    }
  }

  /** Ends all streams. A reader that is processing a batch ends at its next read, if there is one. */
  close(): void {
    this.#stopping.abort();
    this.#newest.stop();
  }

  /** @throws OUT_OF_RANGE when a stream cannot begin after this row. */
  async #checkStart(at: number, hash: string | undefined): Promise<void> {
    const { seq: newest } = this.#newest.head;
    if (at > newest) throw outOfRange(message("AUDIT_ROW_NOT_YET", { row: at, newest }));
    await this.#checkKept(at);
    if (hash !== undefined && !(await this.#hashOf(at)).startsWith(hash))
      throw outOfRange(message("AUDIT_ROW_OTHER", { row: at }));
  }

  /** The next batch after a row; the same object for all streams of a selection. */
  #batchAfter(at: number, key: string, selected: Selected): Promise<Progress> {
    const name = `${at} ${key}`;
    const known = this.#shared.get(name);
    if (known !== undefined) return known;
    const rows = this.#newest.after(at);
    const batch =
      rows === undefined
        ? this.#readBatch(at, selected)
        : Promise.resolve(this.#batchOf(rows, selected));
    if (this.#shared.size < MAX_SHARED) this.#shared.set(name, batch);
    // A failed read is repeated by the next stream.
    batch.catch(() => this.#shared.delete(name));
    return batch;
  }

  /** @param rows all rows up to the head. */
  #batchOf(rows: readonly AuditRow[], selected: Selected): Progress {
    const found = rows.filter((row) => isSelected(row, selected));
    const page = found.slice(0, BATCH);
    const last = page.length < found.length ? page.at(-1) : undefined;
    const { seq, hash } = last ?? this.#newest.head;
    return { seq, hash, rows: page };
  }

  async #readBatch(at: number, { fits, ...filter }: Selected): Promise<Progress> {
    const before = Math.min(this.#newest.head.seq, at + MAX_SCANNED) + 1;
    const range = { after: at, before, limit: BATCH, newestFirst: false };
    const rows = await this.#store.rows({ ...filter, ...range });
    await this.#checkKept(at);
    const seq = rows.length === BATCH ? (rows.at(-1)?.seq ?? at) : before - 1;
    return { seq, hash: await this.#hashOf(seq), rows: rows.filter(fits) };
  }

  async #hashOf(seq: number): Promise<string> {
    const floor = await this.#store.floor();
    if (seq === floor.seq) return floor.hash;
    const range = { after: seq - 1, before: seq + 1, limit: 1, newestFirst: false };
    const [row] = await this.#store.rows(range);
    if (row === undefined) throw forgotten(seq, floor.seq + 1);
    return row.hash;
  }

  /** Rows may have been deleted before they were read. */
  async #checkKept(after: number): Promise<void> {
    const floor = await this.#store.floor();
    if (after < floor.seq) throw forgotten(after, floor.seq + 1);
  }
}
