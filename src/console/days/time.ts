import type { Day } from "../../../gen/mooring/v1/incident_pb.js";
import { perLanguage, t } from "../i18n/language.ts";

const dates = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }),
);
const units = perLanguage((language) => {
  const of = (unit: string) =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" });
  return { day: of("day"), hour: of("hour"), minute: of("minute") };
});

/** Day in UTC as the language writes it. @param date such as `2026-11-26`. */
export function dateText(date: string): string {
  return dates().format(Date.parse(`${date}T00:00:00Z`));
}

/** Time such as `5 hr 10 min`. */
export function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const { day, hour, minute } = units();
  const parts = [
    { count: Math.floor(minutes / 1_440), format: day },
    { count: Math.floor(minutes / 60) % 24, format: hour },
    { count: minutes % 60, format: minute },
  ];
  const first = parts.findIndex(({ count }) => count > 0);
  if (first < 0) return t("days.short");
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ count, format }) => format.format(count))
    .join(" ");
}

/** The times of a day in words, such as `failed 10 min, worked 23 hr 50 min`. */
export function dayText({ workedSeconds, failedSeconds, unmonitoredSeconds }: Day): string {
  const parts = [
    { word: t("days.failed"), seconds: failedSeconds },
    { word: t("days.worked"), seconds: workedSeconds },
    // The end of a day is stored a minute later.
    { word: t("days.unmonitored"), seconds: unmonitoredSeconds < 60 ? 0 : unmonitoredSeconds },
  ].filter(({ seconds }) => seconds > 0);
  if (parts.length === 1 && parts[0]?.seconds === unmonitoredSeconds) return t("days.unmonitored");
  return parts.map(({ word, seconds }) => `${word} ${durationText(seconds)}`).join(t("days.comma"));
}

/** Time of all days in which a site or a mount has failed, in seconds. */
export function failedTime(days: readonly Day[]): number {
  return days.reduce((sum, { failedSeconds }) => sum + failedSeconds, 0);
}
