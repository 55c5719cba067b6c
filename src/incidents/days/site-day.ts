import type { Text } from "../../messages/message.ts";
import { splitByDay } from "./day.ts";

/** A site on one day. Times are milliseconds. */
export interface SiteDay {
  readonly siteId: string;
  readonly day: number;
  /** Time in which the site could be read: the clock by which its mounts are measured. */
  readonly worked: number;
  readonly failed: number;
  /** End of the counted time, since 1970 UTC. */
  readonly countedTo: number;
  /** First failure of the day; empty: none. */
  readonly reason: Text;
}

/** Observation of a site at a time; `unmonitored`: the site is paused and not read. */
export interface SiteObservation {
  readonly at: number;
  readonly state: "works" | "fails" | "unmonitored";
  /** Failure; empty unless it fails. */
  readonly reason: Text;
}

/**
 * Longest counted time between two observations, in milliseconds. A longer gap is a stop of the service
 * or a clock that was set forward, and counts as unmonitored.
 */
export const LONGEST_GAP = 180_000;

/**
 * Days of a site that an observation changes: the time since the previous one is added to the state of
 * the previous one. No time counts twice, also after the clock was set back.
 *
 * @param before the previous observation; undefined: none in this process.
 */
export function countObservation(
  siteId: string,
  before: SiteObservation | undefined,
  now: number,
  dayAt: (day: number) => SiteDay | undefined,
): readonly SiteDay[] {
  if (before === undefined || before.state === "unmonitored") return [];
  if (now - before.at > LONGEST_GAP) return [];
  const isWorking = before.state === "works";
  return splitByDay(before.at, now).flatMap(({ day, from, to }) => {
    const known = dayAt(day) ?? emptyDay(siteId, day);
    const time = to - Math.max(from, known.countedTo);
    if (time <= 0) return [];
    return {
      ...known,
      worked: known.worked + (isWorking ? time : 0),
      failed: known.failed + (isWorking ? 0 : time),
      countedTo: to,
      reason: known.reason === "" ? before.reason : known.reason,
    };
  });
}

function emptyDay(siteId: string, day: number): SiteDay {
  return { siteId, day, worked: 0, failed: 0, countedTo: 0, reason: "" };
}
