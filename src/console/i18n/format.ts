import { signal } from "@preact/signals";
import { perLanguage, t } from "./language.ts";

/** The time of day, for everything that says how long ago something was. */
const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 20_000);

const relative = perLanguage(
  (language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }),
);
const moments = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" }),
);
const dates = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: "medium" }));
const days = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: "full" }));
const times = perLanguage((language) => new Intl.DateTimeFormat(language, { timeStyle: "short" }));
const lists = perLanguage((language) => new Intl.ListFormat(language, { type: "conjunction" }));

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/**
 * Elapsed time, such as `2 hours ago`; never in the future, whatever the clocks say.
 *
 * @param time in milliseconds since 1970 UTC.
 */
export function ago(time: number): string {
  const past = Math.min(time, Date.now());
  return secondsUntil(past) > -60 ? t("time.justNow") : ahead(past);
}

/** Time until, such as `in 2 hours`, or elapsed time. @param time as of ago. */
export function ahead(time: number): string {
  const seconds = secondsUntil(time);
  const [unit, size] =
    STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const);
  // Seconds are not shown: they would tick.
  const count = unit === "second" ? 0 : Math.trunc(seconds / size);
  return relative().format(count, unit);
}

function secondsUntil(time: number): number {
  return Math.round((time - Math.max(now.value, Date.now())) / 1_000);
}

/** Day and time of day. @param time in milliseconds since 1970 UTC. */
export function dateTime(time: number): string {
  return moments().format(time);
}

/** The date alone. */
export function date(time: number): string {
  return dates().format(time);
}

/** The day, with its weekday. */
export function day(time: number): string {
  return days().format(time);
}

/** The time of day alone. */
export function timeOfDay(time: number): string {
  return times().format(time);
}

/** Names one after the other, as the language joins them. */
export function list(names: readonly string[]): string {
  return lists().format(names);
}
