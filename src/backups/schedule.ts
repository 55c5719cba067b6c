import { Code } from "@connectrpc/connect";
import { ROOT } from "../access/grant.ts";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { hasCome, startPeriodic } from "../periodic.ts";
import type { StoredBackup } from "./files.ts";
import { type BackupService, problemOf } from "./service.ts";

/** State of the backups, for lists, checks of readiness and metrics. */
export interface ScheduleState {
  /** Cron expression; empty: none. */
  readonly schedule: string;
  readonly timeZone: string;
  /** In the notation of the variable. */
  readonly keep: string;
  /** Time of the next backup in milliseconds since 1970 UTC. Undefined: none. */
  readonly nextTime: number | undefined;
  /** Reason for which the last scheduled backup failed, or is late. Empty: none. */
  readonly problem: Text;
  /** Newest backup of this service. Undefined: none, or unknown. */
  readonly newest: Pick<StoredBackup, "name" | "time" | "size"> | undefined;
  /** Duration of the last backup by this process, in milliseconds. 0: none. */
  readonly duration: number;
}

/** State of a service without backups. */
export const NO_SCHEDULE: ScheduleState = {
  schedule: "",
  timeZone: "",
  keep: "",
  nextTime: undefined,
  problem: "",
  newest: undefined,
  duration: 0,
};

export interface ScheduleDeps {
  readonly backups: Pick<BackupService, "list" | "create">;
  /** Cron expression; empty: backups are made by callers only. */
  readonly schedule: string;
  readonly timeZone: string;
  readonly keep: string;
  /** First time of the schedule after a time. Undefined: there is none. */
  readonly timeAfter: (time: number) => number | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Interval of checks, in milliseconds. Default: 10,000. */
  readonly interval?: number | undefined;
  /** Called after each scheduled backup. @param problem empty: it was stored. */
  readonly onResult: (problem: Text, backup?: StoredBackup) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export interface BackupSchedule {
  state(): ScheduleState;
  /** Reads the list again after a backup by a caller. */
  changed(): void;
  stop(): Promise<void>;
}

/** Default interval of checks, in milliseconds. */
const INTERVAL = 10_000;
/** Interval of reading the list, in milliseconds. */
const READ_INTERVAL = 300_000;
/** Pauses after failures in milliseconds: the first one, doubled after each further one up to the longest. */
const FIRST_PAUSE = 60_000;
const LONGEST_PAUSE = 3_600_000;
/** Time after which a backup that no process has made is reported as late, in milliseconds. */
const LATE_AFTER = 900_000;

/**
 * Makes backups at the times of a schedule, in one of all processes. The time of the newest backup
 * decides: one that was missed while no service ran is made at the start.
 */
export function startBackupSchedule(deps: ScheduleDeps): BackupSchedule {
  const { backups, schedule, now, timeAfter } = deps;
  const started = now();
  let newest: StoredBackup | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let retryAt = 0;
  let failure: Text = "";
  let duration = 0;

  const read = async (signal: AbortSignal): Promise<void> => {
    const time = now();
    const all = await backups.list(signal);
    // A backup with a time in the future was made while the clock was ahead.
    newest = all.find((each) => each.isOwn && each.time <= time);
    readAt = time;
  };
  /** Time at which a backup is due; the start of the service if there is none yet. */
  const dueAt = (): number | undefined => {
    if (schedule === "") return undefined;
    return newest === undefined ? started : timeAfter(newest.time);
  };
  const isDue = (): boolean => {
    const due = dueAt();
    return due !== undefined && due <= now();
  };
  const fail = async (error: unknown): Promise<void> => {
    failures += 1;
    retryAt = now() + Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE);
    failure = problemOf(error);
    await deps.onResult(failure);
  };
  const make = async (signal: AbortSignal): Promise<void> => {
    const begun = performance.now();
    const options = { passphrase: "", includeServerOwn: false, signal };
    const { backup } = await backups.create(ROOT, options);
    duration = performance.now() - begun;
    newest = backup;
    failures = 0;
    failure = "";
    await deps.onResult("", backup);
  };
  const checkSchedule = async (signal: AbortSignal): Promise<void> => {
    if (!hasCome(retryAt, { now: now(), longest: LONGEST_PAUSE })) return;
    try {
      if (isDue() || hasCome(readAt + READ_INTERVAL, { now: now(), longest: READ_INTERVAL }))
        await read(signal);
      if (isDue()) await make(signal);
      else if (failure !== "") {
        // Another process has made it.
        failures = 0;
        failure = "";
        await deps.onResult("", newest);
      }
    } catch (error) {
      if (signal.aborted) return;
      // Another process makes it, or a caller does: the next check finds it.
      if (error instanceof ServiceError && error.code === Code.ResourceExhausted) return;
      await fail(error);
    }
  };
  const job = startPeriodic(checkSchedule, {
    interval: deps.interval ?? INTERVAL,
    onError: deps.onError,
  });
  void job.run();
  return {
    state: () => {
      const due = dueAt();
      const isLate = due !== undefined && readAt > 0 && due + LATE_AFTER <= now();
      return {
        schedule,
        timeZone: deps.timeZone,
        keep: deps.keep,
        nextTime: due === undefined ? undefined : Math.max(due, now()),
        problem:
          failure === "" && isLate
            ? message("BACKUP_LATE", { time: new Date(due).toISOString() })
            : failure,
        newest,
        duration,
      };
    },
    changed: () => {
      readAt = Number.NEGATIVE_INFINITY;
      retryAt = 0;
      void job.run();
    },
    stop: job.stop,
  };
}
