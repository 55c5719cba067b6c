import { type AuditService, createAuditService } from "../audit/audit.ts";
import { type Checkpoints, startCheckpoints } from "../audit/checkpoint.ts";
import { createRecorder, type Recorder } from "../audit/recorder.ts";
import type { Config } from "../config/config.ts";
import { startCompaction } from "../settings/compaction.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Store } from "./database.ts";

/** How often new rows are looked for while somebody watches, in milliseconds. */
const WATCH_INTERVAL = 250;
/** How often a watcher hears that there are none, likewise. */
const IDLE_INTERVAL = 15_000;
/** How often what was counted is written, likewise. */
const COUNT_INTERVAL = 60_000;
/** How often it is looked whether a checkpoint is to be published, likewise. */
const CHECKPOINT_INTERVAL = 5_000;
/** How often old rows are looked for, likewise. */
const COMPACTION_INTERVAL = 60_000;

export interface AuditParts {
  readonly store: Pick<Store, "audit" | "claimTurn">;
  readonly log: Logger;
}

/** Who did what: reading it, watching it, and writing what is no change of its own. */
export interface OpenAudit extends AuditService, Recorder {
  /** Writes what waits. */
  close(): Promise<void>;
}

export function openAudit({ store: { audit: store }, log }: AuditParts): OpenAudit {
  const service = createAuditService({
    ...{ store, now: Date.now },
    ...{ interval: WATCH_INTERVAL, idle: IDLE_INTERVAL },
  });
  const recorder = createRecorder({
    ...{ store, now: Date.now, interval: COUNT_INTERVAL },
    onError: (error, dropped) => log.error({ err: error, dropped }, "the audit can't be written"),
  });
  return { ...service, ...recorder };
}

/** Publishes checkpoints, and forgets old rows, in the background. */
export function keepAudit(
  { auditRows, auditAgeMs }: Pick<Config, "auditRows" | "auditAgeMs">,
  { store, log }: AuditParts,
): Checkpoints {
  const { audit, claimTurn } = store;
  const checkpoints = startCheckpoints({
    ...{ store: audit, interval: CHECKPOINT_INTERVAL, now: Date.now },
    onPublished: (checkpoint) => log.info({ checkpoint }, "audit checkpoint"),
    onError: (error) => log.warn({ err: error }, "no checkpoint of the audit can be made"),
  });
  const stopCompaction = startCompaction({
    ...{ task: "audit", claimTurn },
    forget: (retention, step) => audit.forget(retention, step, Date.now()),
    ...{ maxCount: auditRows, maxAge: auditAgeMs, interval: COMPACTION_INTERVAL, now: Date.now },
    onError: (error) => log.warn({ err: error }, "old rows of the audit can't be forgotten"),
  });
  return {
    ...checkpoints,
    stop: async () => {
      await checkpoints.stop();
      await stopCompaction();
    },
  };
}
