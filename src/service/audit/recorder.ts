import type { AuditEntry, AuditStore } from "../../store/audit-store.ts";
import { unavailable } from "../error.ts";
import { type AuditOrigin, doneEntry } from "./entry.ts";
import { createTally, type Noted } from "./tally.ts";

/** Rows that wait for a database that is away, at most; the oldest are dropped. */
const MAX_WAITING = 1_000;

/** Something that was done, as {@link doneEntry} takes it. */
export interface Done {
  readonly origin: AuditOrigin;
  readonly subjects: readonly string[];
  readonly detail: AuditEntry["detail"];
  readonly isNeeded: boolean;
}

/** Writes what is no change of its own into the audit. */
export interface Recorder {
  /** Counts something; it is written within the interval. */
  note(noted: Noted): void;
  /**
   * Writes a row of something that was done.
   *
   * @param done.isNeeded whether it must not be without its row; else that is written later when it
   *   can't be now.
   * @throws UNAVAILABLE.
   */
  record(done: Done): Promise<void>;
  /** Writes what waits. */
  close(): Promise<void>;
}

export interface RecorderDeps {
  readonly store: Pick<AuditStore, "append">;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** How often what was counted is written, in milliseconds. */
  readonly interval: number;
  /** Told when rows can't be written, and how many were given up. */
  readonly onError: (error: unknown, dropped: number) => void;
}

export function createRecorder({ store, now, interval, onError }: RecorderDeps): Recorder {
  const tally = createTally(now);
  let waiting: AuditEntry[] = [];
  const write = async (): Promise<void> => {
    const rows = [...waiting, ...tally.drain()];
    waiting = [];
    try {
      await store.append(rows);
    } catch (error) {
      const kept = [...rows, ...waiting];
      waiting = kept.slice(-MAX_WAITING);
      onError(error, kept.length - waiting.length);
    }
  };
  const timer = setInterval(() => void write(), interval).unref();
  return {
    note: tally.note,
    record: async ({ origin, subjects, detail, isNeeded }) => {
      const entry = doneEntry(origin, now(), subjects, detail);
      try {
        await store.append([entry]);
      } catch (error) {
        if (isNeeded)
          throw unavailable(
            `nothing was handed out, because the audit can't be written: ${error instanceof Error ? error.message : ""}`,
            error,
          );
        waiting.push(entry);
        onError(error, 0);
      }
    },
    close: () => {
      clearInterval(timer);
      return write();
    },
  };
}
