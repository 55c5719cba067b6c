import type { HandlerContext } from "@connectrpc/connect";
import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { startPeriodic } from "../periodic.ts";
import { type AuditOrigin, auditOriginOf, doneEntry } from "./entry.ts";
import type { AuditEntry, AuditStore } from "./store.ts";
import { subjectParts } from "./subject-part.ts";
import { createTally, type Noted } from "./tally.ts";

/** Maximum number of pending rows while the database is unavailable. */
const MAX_WAITING = 1_000;

/** Completed action, for {@link doneEntry}. */
interface Done {
  readonly origin: AuditOrigin;
  readonly subjects: readonly string[];
  readonly detail: AuditEntry["detail"];
  /** Whether the action must fail without its row; otherwise the row may be written later. */
  readonly isNeeded: boolean;
}

/** Writes rows that belong to no change. */
export interface Recorder {
  /** Counts a call; its row is written within the interval. */
  note(noted: Noted): void;
  /**
   * Writes the row of a completed action; many subjects are divided into rows.
   *
   * @throws UNAVAILABLE if `isNeeded` and the row cannot be written.
   */
  record(done: Done): Promise<void>;
  /** Writes pending rows. */
  close(): Promise<void>;
}

export interface RecorderDeps {
  readonly store: Pick<AuditStore, "append">;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Interval in which counted calls are written, in milliseconds. */
  readonly interval: number;
  /** Called when rows cannot be written, with the number of dropped rows. */
  readonly onError: (error: unknown, dropped: number) => void;
}

export function createRecorder({ store, now, interval, onError }: RecorderDeps): Recorder {
  let waiting: readonly AuditEntry[] = [];
  let writing: Promise<void> | undefined;
  /** @returns the number of dropped rows. */
  const keep = (rows: readonly AuditEntry[]): number => {
    waiting = newest(rows);
    return rows.length - waiting.length;
  };
  const writeAll = async (): Promise<void> => {
    do {
      const rows = [...waiting, ...tally.drain()];
      waiting = [];
      try {
        await store.append(rows);
      } catch (error) {
        onError(error, keep([...rows, ...waiting]));
        return;
      }
    } while (waiting.length > 0);
  };
  /** Serialized: rows that arrive during a write are written after it. */
  const write = (): Promise<void> => {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };
  const tally = createTally(now, (rows) => {
    const dropped = keep([...waiting, ...rows]);
    if (dropped > 0) onError(new Error("rows arrive faster than they can be written"), dropped);
    void write();
  });
  // `write` reports its failures itself, with the number of dropped rows.
  const job = startPeriodic(write, { interval, onError: (error) => onError(error, 0) });
  return {
    note: tally.note,
    record: async ({ origin, subjects, detail, isNeeded }) => {
      const entries = subjectParts(subjects).map((part, at) =>
        doneEntry(origin, now(), part, at === 0 ? detail : { ...detail, part: at + 1 }),
      );
      try {
        await store.append(entries);
      } catch (error) {
        if (isNeeded)
          throw unavailable(
            message("AUDIT_NOT_WRITTEN", { reason: error instanceof Error ? error.message : "" }),
            error,
          );
        onError(error, keep([...waiting, ...entries]));
      }
    },
    close: async () => {
      await job.stop();
      await writing;
      await write();
    },
  };
}

/**
 * The newest rows within the bound: the oldest refusals are dropped first, then the oldest rows.
 */
function newest(rows: readonly AuditEntry[]): readonly AuditEntry[] {
  let surplus = rows.length - MAX_WAITING;
  if (surplus <= 0) return rows;
  const kept = rows.filter(({ outcome }) => {
    if (surplus <= 0 || outcome === "OK") return true;
    surplus -= 1;
    return false;
  });
  return kept.slice(-MAX_WAITING);
}

/** Audit entry of a dry run with values for secrets that its caller may not read. */
export function dryRunOf(context: HandlerContext, subjects: readonly string[]): Noted {
  return { origin: auditOriginOf(context), outcome: "OK", reason: "dry run", subjects };
}
