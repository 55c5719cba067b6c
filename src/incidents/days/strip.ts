import type { Text } from "../../messages/message.ts";
import { DAY, SHOWN_DAYS } from "./day.ts";
import { daysOf, type MountDay, type MountSpan } from "./mount-span.ts";
import { LONGEST_GAP, type SiteDay } from "./site-day.ts";

/** A site or a mount on one day, in seconds. */
export interface ShownDay {
  readonly day: number;
  readonly worked: number;
  readonly failed: number;
  /** Time without observations; of the present day, until now. */
  readonly unmonitored: number;
  /** First failure; empty: none. */
  readonly reason: Text;
}

/** Days of a site, the oldest first. */
export function stripOfSite(days: ReadonlyMap<number, SiteDay>, now: number): readonly ShownDay[] {
  return shownDays(now).map((day) => shown(day, days.get(day), now, days.get(day)));
}

/** Days of a mount, the oldest first. */
export function stripOfMount(
  span: MountSpan,
  ended: readonly MountDay[],
  siteDays: ReadonlyMap<number, SiteDay>,
  now: number,
): readonly ShownDay[] {
  const days = shownDays(now);
  const workedOn = (day: number): number => siteDays.get(day)?.worked ?? 0;
  const byDay = Map.groupBy([...ended, ...daysOf(span, workedOn)], ({ day }) => day);
  return days.map((day) => {
    const site = siteDays.get(day);
    if (day < span.firstDay) return shown(day, undefined, now, site);
    const parts = byDay.get(day) ?? [];
    const before = day === span.firstDay ? span.firstAt : 0;
    const known = Math.max(0, workedOn(day) - before);
    // The clock of the site is stored once a minute: a mount that has just failed has no time yet.
    const isFailing = span.state === "fails" && day === days.at(-1);
    const failed = Math.max(isFailing ? 1 : 0, Math.min(known, sum(parts, "failed")));
    const unmonitored = Math.min(known - failed, sum(parts, "unmonitored"));
    const first = parts.find((part) => part.failed > 0)?.reason ?? "";
    const reason = first === "" && isFailing ? span.reason : first;
    const worked = Math.max(0, known - failed - unmonitored);
    return shown(day, { worked, failed, reason }, now, site);
  });
}

function shownDays(now: number): readonly number[] {
  const today = Math.floor(now / DAY);
  return Array.from({ length: SHOWN_DAYS }, (_, at) => today - SHOWN_DAYS + 1 + at);
}

function sum(days: readonly MountDay[], name: "failed" | "unmonitored"): number {
  return days.reduce((total, each) => total + each[name], 0);
}

/** @param site of this day; its last observation may be stored a minute later. */
function shown(
  day: number,
  time: Pick<SiteDay, "worked" | "failed" | "reason"> | undefined,
  now: number,
  site: SiteDay | undefined,
): ShownDay {
  const start = day * DAY;
  const countedTo = site?.countedTo ?? 0;
  const isCurrent = now - countedTo <= LONGEST_GAP && countedTo >= start;
  const elapsed = Math.min(DAY, (isCurrent ? Math.min(now, countedTo) : now) - start);
  // Rounded up: a time of less than a second is shown too.
  const failed = Math.ceil((time?.failed ?? 0) / 1_000);
  const worked = Math.ceil((time?.worked ?? 0) / 1_000);
  const unmonitored = Math.max(0, Math.floor(elapsed / 1_000) - failed - worked);
  return { day, worked, failed, unmonitored, reason: time?.reason ?? "" };
}
