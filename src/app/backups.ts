import { randomBytes } from "node:crypto";
import type { Cron } from "croner";
import { keepText } from "../backups/keep.ts";
import {
  type BackupSchedule,
  NO_SCHEDULE,
  type ScheduleState,
  startBackupSchedule,
} from "../backups/schedule.ts";
import { type BackupLease, BackupService, type BackupServiceDeps } from "../backups/service.ts";
import { createFolderTarget } from "../backups/target/folder.ts";
import type { BackupTarget } from "../backups/target/target.ts";
import type { Config } from "../config/config.ts";
import { createLease, type LeaseStore } from "../database/lease.ts";
import { errorText } from "../error-text.ts";
import type { Conditions } from "../incidents/condition.ts";
import { classify } from "../incidents/incident.ts";
import type { Logger } from "../telemetry/log.ts";
import { createProcessCheck } from "./process-check.ts";

export interface BackupParts {
  readonly archive: BackupServiceDeps["archive"];
  readonly leases: LeaseStore;
  readonly databaseId: () => string;
  /** Opens or closes the incident of the backups. */
  readonly report: Conditions["report"];
  readonly log: Logger;
  /** Check of a backup; undefined: in a process of its own. */
  readonly check?: BackupServiceDeps["check"] | undefined;
  /** Interval of checks of the schedule, in milliseconds; undefined: that of the program. */
  readonly interval?: number | undefined;
}

/** Backups of the service, and their schedule. */
export interface OpenBackups {
  readonly backups: BackupService;
  readonly schedule: BackupSchedule["state"];
  stop(): Promise<void>;
}

/**
 * Opens the backups of the service, and starts their schedule.
 *
 * @throws Error with a message for the operator when the schedule is invalid.
 */
export async function openBackups(config: Config, parts: BackupParts): Promise<OpenBackups> {
  const { backupSchedule = "", backupKeep: keep, backupPassphrase: passphrase } = config;
  const target = await openTarget(config);
  let schedule: BackupSchedule | undefined;
  const backups = new BackupService({
    archive: parts.archive,
    target,
    passphrase,
    keep,
    check: parts.check ?? createProcessCheck(config),
    lease: createBackupLease(parts.leases),
    databaseId: parts.databaseId,
    now: Date.now,
    changed: () => schedule?.changed(),
  });
  if (target === undefined)
    return { backups, schedule: () => NO_SCHEDULE, stop: () => Promise.resolve() };
  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cron = backupSchedule === "" ? undefined : await readSchedule(backupSchedule);
  schedule = startBackupSchedule({
    backups,
    schedule: backupSchedule,
    timeZone,
    keep: keepText(keep),
    timeAfter: (time) => cron?.nextRun(new Date(time))?.getTime(),
    now: Date.now,
    interval: parts.interval,
    onResult: async (problem, backup) => {
      const { place } = target;
      await parts.report(
        { subject: "backup", name: place },
        problem === "" ? undefined : { class: classify(String(problem)), message: problem },
      );
      if (problem === "")
        parts.log.info(
          { backup: backup?.name, place },
          `backup ${backup?.name ?? ""} made in ${place}`,
        );
      else
        parts.log.error(
          { reason: problem, place },
          `the scheduled backup failed: ${String(problem)}`,
        );
    },
    onError: (error) => parts.log.error({ err: error }, "failed to follow the schedule of backups"),
  });
  return { backups, schedule: schedule.state, stop: schedule.stop };
}

/** State of the backups in one line, such as `newest 3 h ago; next in 5 h`. */
export function scheduleText({ newest, nextTime, problem }: ScheduleState, now: number): string {
  const age = newest === undefined ? "no backup yet" : `newest ${ageText(now - newest.time)} ago`;
  return [
    ...(problem === "" ? [] : [`failing: ${String(problem)}`]),
    age,
    ...(nextTime === undefined ? [] : [`next in ${ageText(nextTime - now)}`]),
  ].join("; ");
}

function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

async function openTarget({
  backupDir: place,
  backupUser: user = "",
  backupPassword: password = "",
  backupS3Endpoint: endpoint,
  backupS3Region: region,
}: Config): Promise<BackupTarget | undefined> {
  if (place === undefined) return undefined;
  if (place.kind === "folder") return createFolderTarget(place.path);
  // Imported on demand: most services have a folder, or none.
  if (place.kind === "webdav")
    return (await import("../backups/target/webdav.ts")).createWebdavTarget({
      url: place.url,
      user,
      password,
    });
  return (await import("../backups/target/s3.ts")).createS3Target({
    bucket: place.bucket,
    prefix: place.prefix,
    endpoint,
    region,
    accessKeyId: user,
    secretAccessKey: password,
  });
}

/** @throws Error for an invalid expression, and for one that never comes. */
async function readSchedule(text: string): Promise<Cron> {
  // Imported on demand: most services have no schedule.
  const { Cron } = await import("croner");
  let problem = "it never comes";
  try {
    const cron = new Cron(text, { paused: true });
    if (cron.nextRun() !== null) return cron;
  } catch (error) {
    problem = errorText(error);
  }
  throw new Error(
    `MOORING_BACKUP_SCHEDULE is not a cron expression such as "30 3 * * *" (minute, hour, day, month, day of the week): ${problem}`,
  );
}

/** Interval of renewals of the lease, in milliseconds. */
const RENEWAL = 1_000;

/** The lease that one process holds while it writes backups. */
function createBackupLease(store: LeaseStore): BackupLease {
  return {
    take: async () => {
      const holder = randomBytes(9).toString("base64url");
      const lease = createLease(store, {
        name: "backups",
        holder,
        now: Date.now,
        renewal: RENEWAL,
      });
      await lease.renew();
      if (!lease.isHeld()) return undefined;
      const timer = setInterval(() => void lease.renew().catch(() => undefined), RENEWAL);
      return async () => {
        clearInterval(timer);
        // A lease that is not released ends by itself.
        await lease.release().catch(() => undefined);
      };
    },
  };
}
