// Days in UTC, as numbers of days since 1970-01-01.

/** Milliseconds of a day. */
export const DAY = 86_400_000;
/** Number of days that are shown, including the present one. */
export const SHOWN_DAYS = 30;
/**
 * Number of days of a site that are kept. The oldest are removed by their number and not by the clock,
 * which may be wrong: more are kept than shown, for days on which it was ahead.
 */
export const KEPT_DAYS = SHOWN_DAYS + 10;

/** Day of a time in milliseconds since 1970 UTC. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY);
}

/** Date such as `2026-11-26`. */
export function dateOf(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10);
}

/** Day of a date such as `2026-11-26`; undefined: the text is no date. */
export function dayOfDate(date: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return undefined;
  const time = Date.parse(`${date}T00:00:00Z`);
  // A date such as 2026-02-30 is rejected, or moved to the next month.
  return Number.isNaN(time) || dateOf(dayOf(time)) !== date ? undefined : dayOf(time);
}

/** Part of a period that lies on one day. */
interface PartOfDay {
  readonly day: number;
  readonly from: number;
  readonly to: number;
}

/** Splits a period at the ends of days. */
export function splitByDay(from: number, to: number): readonly PartOfDay[] {
  const parts: PartOfDay[] = [];
  for (let start = from; start < to; ) {
    const day = dayOf(start);
    const end = Math.min(to, (day + 1) * DAY);
    parts.push({ day, from: start, to: end });
    start = end;
  }
  return parts;
}
