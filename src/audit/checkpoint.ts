import { startPeriodic } from "../periodic.ts";
import type { AuditPosition, AuditStore, PublishedPosition } from "./store.ts";

/**
 * Position of the audit at a time. Stored elsewhere, it proves later that the rows up to it are
 * unchanged.
 */
export interface Checkpoint extends AuditPosition {
  /** The id of the database. */
  readonly origin: string;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/**
 * Text of a checkpoint in the form of a C2SP tlog-checkpoint without signatures: origin, number, hash
 * in base64, and the time as an extension line. The hash is that of the newest row, not of a tree.
 */
export function checkpointText({ origin, seq, hash, time }: Checkpoint): string {
  const base64 = Buffer.from(hash, "hex").toString("base64");
  return `${origin}\n${seq}\n${base64}\n${new Date(time).toISOString()}\n`;
}

/**
 * Parses a checkpoint; text after an empty line (signatures) is ignored. Undefined: not a
 * checkpoint.
 */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const [origin = "", seq = "", base64 = "", time = "", ...rest] = text
    .replaceAll("\r\n", "\n")
    .split("\n");
  const hash = Buffer.from(base64, "base64");
  const at = Date.parse(time);
  if (origin === "" || !/^(0|[1-9]\d{0,15})$/.test(seq) || hash.length !== 32) return undefined;
  if (Number.isNaN(at) || (rest.length > 0 && rest[0] !== "")) return undefined;
  return { origin, seq: Number(seq), hash: hash.toString("hex"), time: at };
}

/** A checkpoint is published after MAX_ROWS rows, or after MAX_AGE milliseconds if there are new rows. */
const MAX_ROWS = 1_000;
const MAX_AGE = 3_600_000;

export interface CheckpointsDeps {
  readonly store: Pick<AuditStore, "origin" | "head" | "published" | "publish">;
  /** Interval of checks, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called with a checkpoint, in the process that publishes it. */
  readonly onPublished: (text: string) => void;
  /** Called once for a continuing failure. */
  readonly onError: (error: unknown) => void;
}

/** Publishes positions of the audit. */
export interface Checkpoints {
  /** Last checkpoint that any process has published; undefined: none. */
  published(): PublishedPosition | undefined;
  /** Number of the newest row, as of the last check. */
  newest(): number;
  stop(): Promise<void>;
}

/** Checks periodically; one of several processes publishes. */
export function startCheckpoints(deps: CheckpointsDeps): Checkpoints {
  const { store, interval, now, onPublished, onError } = deps;
  let known: PublishedPosition | undefined;
  let newest = 0;
  const isDue = (last: PublishedPosition | undefined, seq: number): boolean =>
    seq !== (last?.seq ?? 0) &&
    // A smaller row number or an earlier time also needs a checkpoint.
    (Math.abs(seq - (last?.seq ?? 0)) >= MAX_ROWS ||
      Math.abs(now() - (last?.time ?? 0)) >= MAX_AGE);
  const check = async (): Promise<void> => {
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
  const job = startPeriodic(check, { interval, onError });
  return {
    published: () => known,
    newest: () => newest,
    stop: job.stop,
  };
}

// For checks of rows from a source other than the database.
export { createVerifier, isTime, type Verifier } from "./chain.ts";
export type { AuditRow } from "./store.ts";
