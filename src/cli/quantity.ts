import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { quote } from "../config/complaint.ts";
import { durationMs } from "../config/value.ts";
import { usage } from "./failure.ts";

/** Parses a revision. @throws CliFailure (usage). */
export function revisionNumber(text: string, what: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw usage(`${what} ${quote(text)} is not the number of a revision, such as 12`);
}

/** Parses a count from 1 to `max`. @throws CliFailure (usage). */
export function count(text: string, what: string, max: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= max) return number;
  throw usage(`${what} ${quote(text)} is not a whole number from 1 to ${max}`);
}

const DAY = 86_400_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * Parses a time to milliseconds since 1970 UTC: a duration before now (`90s`, `2h`, `7d`, `2w`), a
 * date (its start), or a date and time. The default time zone is that of this machine.
 *
 * @throws CliFailure (usage).
 */
export function pointInTime(text: string, what: string, now: number): number {
  const [, days, unit] = /^(\d{1,5})([dw])$/.exec(text) ?? [];
  const ago = days === undefined ? durationMs(text) : Number(days) * DAY * (unit === "w" ? 7 : 1);
  if (ago !== undefined) return now - ago;
  // A date alone would be read as UTC.
  const time = DATE.test(text) ? Date.parse(`${text}T00:00`) : parseDateTime(text);
  if (!Number.isNaN(time)) return time;
  throw usage(
    `${what} ${quote(text)} is not a time: write 2h or 7d for a time ago, 2026-11-20, or 2026-11-20T09:30`,
  );
}

function parseDateTime(text: string): number {
  return DATE_TIME.test(text) ? Date.parse(text.replace(" ", "T")) : Number.NaN;
}

/** `2026-11-20 09:30:00` in this machine's time zone. */
export function localTime(ms: number): string {
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day} ${time}`;
}

/** Expiry as text: `until 2026-11-20 09:30:00`, or `never expires`. */
export function untilText(end: Timestamp | undefined): string {
  return end === undefined ? "never expires" : `until ${localTime(timestampMs(end))}`;
}

/** `1 setting`, `2 settings`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
