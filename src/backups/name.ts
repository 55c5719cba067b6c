/** Names of backup files: the time of creation in UTC, and the id of the database. */
const NAME =
  /^mooring-backup-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-([0-9A-Za-z_-]{1,64})\.json$/;

/** Suffix of files that are being written. They are no backups. */
const UNFINISHED = ".part";

/** Facts in the name of a backup. */
export interface BackupName {
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly databaseId: string;
}

export function backupName({ time, databaseId }: BackupName): string {
  const stamp = new Date(time).toISOString().replaceAll(/[-:.]/g, "");
  return `mooring-backup-${stamp}-${databaseId}.json`;
}

/** @returns undefined: the file is not a backup by its name. */
export function readBackupName(name: string): BackupName | undefined {
  const [, year, month, day, hour, minute, second, ms, databaseId] = NAME.exec(name) ?? [];
  if (databaseId === undefined) return undefined;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  return Number.isNaN(time) ? undefined : { time, databaseId };
}

/** Name of a backup while it is written and checked. */
export function unfinishedName(name: string): string {
  return `${name}${UNFINISHED}`;
}

/** Reports whether a file was left by a process that ended while it wrote a backup of a database. */
export function isUnfinished(name: string, databaseId: string): boolean {
  return (
    name.endsWith(UNFINISHED) &&
    readBackupName(name.slice(0, -UNFINISHED.length))?.databaseId === databaseId
  );
}
