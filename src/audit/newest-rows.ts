import { oneAtATime } from "../database/replica.ts";
import { type Periodic, startPeriodic } from "../periodic.ts";
import type { AuditPosition, AuditRow, AuditStore } from "./store.ts";

/** Maximum number of new rows that are kept in memory for the streams. */
const KEPT = 1_000;

export interface NewestRowsDeps {
  readonly store: Pick<AuditStore, "head" | "rows">;
  /** Interval of polling for the newest row while there are readers, in milliseconds. */
  readonly interval: number;
  /** Called after the newest row has changed, and after the rows in memory were released. */
  readonly onChange: () => void;
}

/** The newest audit rows in memory, polled while they have readers, whichever process writes them. */
export class NewestRows {
  readonly #deps: NewestRowsDeps;
  readonly #poll: () => Promise<void>;
  #job: Periodic | undefined;
  #readers = 0;
  #head: AuditPosition = { seq: 0, hash: "" };
  /** Rows without gaps, up to the head. */
  #rows: readonly AuditRow[] = [];

  constructor(deps: NewestRowsDeps) {
    this.#deps = deps;
    // Reads do not overlap: a slow one would set back the newest row.
    this.#poll = oneAtATime(() => this.#read()).run;
  }

  /** The newest row. */
  get head(): AuditPosition {
    return this.#head;
  }

  /** Rows after one, up to the head. Undefined: some of them are not in memory. */
  after(seq: number): readonly AuditRow[] | undefined {
    const count = this.#head.seq - seq;
    return count <= this.#rows.length ? this.#rows.slice(this.#rows.length - count) : undefined;
  }

  /** Adds a reader; resolves when the head is known. */
  join(): Promise<void> {
    this.#readers += 1;
    // An unavailable store is polled again the next time.
    this.#job ??= startPeriodic(this.#poll, {
      interval: this.#deps.interval,
      onError: () => undefined,
    });
    return this.#poll();
  }

  /** Removes a reader. */
  leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    this.stop();
    this.#rows = [];
    this.#deps.onChange();
  }

  /** Ends the polling. */
  stop(): void {
    void this.#job?.stop();
    this.#job = undefined;
  }

  async #read(): Promise<void> {
    const { store, onChange } = this.#deps;
    const { seq: known } = this.#head;
    const head = await store.head();
    if (head.seq === known) {
      this.#head = head;
      return;
    }
    const isNear = head.seq > known && head.seq - known <= KEPT;
    const rows = isNear
      ? await store.rows({ after: known, before: head.seq + 1, limit: KEPT, newestFirst: false })
      : [];
    const isComplete = rows.length === head.seq - known;
    this.#rows = isComplete ? [...this.#rows, ...rows].slice(-KEPT) : [];
    this.#head = head;
    onChange();
  }
}
