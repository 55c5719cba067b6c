import { type Checkpoints, startCheckpoints } from "../audit/checkpoint.ts";
import { createRecorder, type Recorder } from "../audit/recorder.ts";
import { type AuditService, createAuditService } from "../audit/service.ts";
import type { Config } from "../config/config.ts";
import { startCompaction } from "../ledger/compaction.ts";
import type { Store } from "../store/stores.ts";
import type { Logger } from "../telemetry/log.ts";

/** Interval of checks for new rows while there are watchers, in milliseconds. */
const WATCH_INTERVAL = 250;
/** Interval of bookmarks for watchers, in milliseconds. */
const IDLE_INTERVAL = 15_000;
/** Interval in which counted calls are written, in milliseconds. */
const COUNT_INTERVAL = 60_000;
/** Interval of checks whether to publish a checkpoint, in milliseconds. */
const CHECKPOINT_INTERVAL = 5_000;
/** Interval of checks for old rows, in milliseconds. */
const COMPACTION_INTERVAL = 60_000;

export interface AuditParts {
  readonly store: Pick<Store, "audit" | "tryAcquireJobSlot">;
  readonly log: Logger;
}

/** The audit: reading, watching, and recording actions that are not changes. */
export interface OpenAudit extends AuditService, Recorder {
  /** Writes pending rows. */
  close(): Promise<void>;
}

export function openAudit({ store: { audit: store }, log }: AuditParts): OpenAudit {
  const service = createAuditService({
    store,
    now: Date.now,
    interval: WATCH_INTERVAL,
    idle: IDLE_INTERVAL,
  });
  const recorder = createRecorder({
    store,
    now: Date.now,
    interval: COUNT_INTERVAL,
    onError: (error, dropped) => log.error({ err: error, dropped }, "failed to write the audit"),
  });
  return { ...service, ...recorder };
}

/** Publishes checkpoints and deletes old rows in the background. */
export function keepAudit(
  { auditRows, auditAgeMs }: Pick<Config, "auditRows" | "auditAgeMs">,
  { store, log }: AuditParts,
): Checkpoints {
  const { audit, tryAcquireJobSlot } = store;
  const checkpoints = startCheckpoints({
    store: audit,
    interval: CHECKPOINT_INTERVAL,
    now: Date.now,
    onPublished: (checkpoint) => log.info({ checkpoint }, "audit checkpoint"),
    onError: (error) => log.warn({ err: error }, "failed to publish a checkpoint of the audit"),
  });
  const compaction = startCompaction({
    task: "audit",
    tryAcquireJobSlot,
    forget: (retention, step) => audit.forget(retention, step, Date.now()),
    maxCount: auditRows,
    maxAge: auditAgeMs,
    interval: COMPACTION_INTERVAL,
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "failed to delete old rows of the audit"),
  });
  return {
    ...checkpoints,
    stop: async () => {
      await checkpoints.stop();
      await compaction.stop();
    },
  };
}
