import { type Keep, PERIODS } from "../config/backup.ts";

export type { Keep } from "../config/backup.ts";

/** Backup, as far as the choice needs it. */
interface Dated {
  readonly name: string;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/**
 * Names of the backups that are kept: the newest `last` ones, and the newest one of each of the last
 * periods that have a backup. Periods are those of the time zone of the process; weeks begin on Monday.
 *
 * @param backups newest first.
 */
export function chooseKept(backups: readonly Dated[], keep: Keep): Set<string> {
  const kept = new Set(backups.slice(0, keep.last ?? 0).map(({ name }) => name));
  for (const period of PERIODS) {
    const seen = new Set<string>();
    for (const { name, time } of backups) {
      const key = periodOf(period, new Date(time));
      if (seen.has(key)) continue;
      if (seen.size >= (keep[period] ?? 0)) break;
      seen.add(key);
      kept.add(name);
    }
  }
  return kept;
}

function periodOf(period: (typeof PERIODS)[number], date: Date): string {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  switch (period) {
    case "hourly":
      return [year, month, day, date.getHours()].join("-");
    case "daily":
      return [year, month, day].join("-");
    case "weekly": {
      const monday = new Date(year, month, day - ((date.getDay() + 6) % 7));
      return [monday.getFullYear(), monday.getMonth(), monday.getDate()].join("-");
    }
    case "monthly":
      return [year, month].join("-");
    case "yearly":
      return String(year);
  }
}

/** Notation of the variable. */
export function keepText(keep: Keep): string {
  return Object.entries(keep)
    .map(([name, count]) => `${name}=${count}`)
    .join(",");
}
