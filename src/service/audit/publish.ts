import type { AuditStore, PublishedPosition } from "../../store/audit-store.ts";
import { checkpointText } from "./checkpoint.ts";

/** A checkpoint is published after so many rows, or so many milliseconds if there is any row. */
const MAX_ROWS = 1_000;
const MAX_AGE = 3_600_000;

export interface CheckpointsDeps {
  readonly store: Pick<AuditStore, "origin" | "head" | "published" | "publish">;
  /** How often it is looked whether there is one to publish, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Told of a checkpoint, in the process that publishes it. */
  readonly onPublished: (text: string) => void;
  /** Told once of what goes on failing. */
  readonly onError: (error: unknown) => void;
}

/** Publishes where the audit stands, so that it is known elsewhere, too. */
export interface Checkpoints {
  /** The newest that any process has published; undefined: none as yet. */
  published(): PublishedPosition | undefined;
  /** The number of the newest row, as of the last look. */
  newest(): number;
  stop(): void;
}

/** Looks now and then; of several processes one publishes. */
export function startCheckpoints(deps: CheckpointsDeps): Checkpoints {
  const { store, interval, now, onPublished, onError } = deps;
  let known: PublishedPosition | undefined;
  let newest = 0;
  let stopped = false;
  const isDue = (last: PublishedPosition | undefined, seq: number): boolean =>
    seq !== (last?.seq ?? 0) &&
    // Rows are fewer than before, or the clock is: that is worth a checkpoint, too.
    (Math.abs(seq - (last?.seq ?? 0)) >= MAX_ROWS ||
      Math.abs(now() - (last?.time ?? 0)) >= MAX_AGE);
  const look = async (): Promise<void> => {
    const head = await store.head();
    newest = head.seq;
    if (known !== undefined && !isDue(known, head.seq)) return;
    known = await store.published();
    if (!isDue(known, head.seq)) return;
    const next = { ...head, time: now() };
    if (!(await store.publish(known, next))) return;
    known = next;
    onPublished(checkpointText({ ...next, origin: store.origin }));
  };
  let isTold = false;
  const timer = setInterval(async () => {
    try {
      await look();
      isTold = false;
    } catch (error) {
      if (!stopped && !isTold) onError(error);
      isTold = true;
    }
  }, interval).unref();
  return {
    published: () => known,
    newest: () => newest,
    stop: () => {
      stopped = true;
      clearInterval(timer);
    },
  };
}
