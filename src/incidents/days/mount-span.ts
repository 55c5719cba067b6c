import type { Text } from "../../messages/message.ts";

/**
 * State of a mount in the list of its site: `unmonitored` if it is disabled or still starts, `gone` if it
 * is no longer listed.
 */
export type MountState = "works" | "fails" | "unmonitored" | "gone";

/**
 * Present state of a mount. It is measured by the clock of its site, which runs while the site can be
 * read and starts at 0 each day: a failing site and a stopped service change no mount.
 */
export interface MountSpan {
  readonly siteId: string;
  readonly path: string;
  /** Day on which it was first listed, and the site's clock at that time. */
  readonly firstDay: number;
  readonly firstAt: number;
  readonly state: MountState;
  /** Day on which the state began, and the site's clock at that time. */
  readonly day: number;
  readonly began: number;
  /** Failure; empty unless it fails. */
  readonly reason: Text;
}

/** Time of a mount on one day in which it did not work, in milliseconds of its site's clock. */
export interface MountDay {
  readonly siteId: string;
  readonly path: string;
  readonly day: number;
  readonly failed: number;
  readonly unmonitored: number;
  /** First failure of the day; empty: none. */
  readonly reason: Text;
}

/** Time of a site's clock. */
export interface SiteTime {
  readonly day: number;
  readonly at: number;
}

/** The span of a mount that is listed for the first time. */
export function firstSpan(
  { siteId, path }: Pick<MountSpan, "siteId" | "path">,
  { state, reason }: Pick<MountSpan, "state" | "reason">,
  { day, at }: SiteTime,
): MountSpan {
  return { siteId, path, firstDay: day, firstAt: at, state, day, began: at, reason };
}

/**
 * Ends the span of a mount, and begins the next one. A state other than `works` begins anew each day,
 * so that a clock set to another year changes the present day only.
 *
 * @param workedOn the site's clock at the end of a day, or now.
 * @returns the time of the ended span by day; empty if the mount worked.
 */
export function nextSpan(
  span: MountSpan,
  { state, reason }: Pick<MountSpan, "state" | "reason">,
  { day, at }: SiteTime,
  workedOn: (day: number) => number,
): { readonly span: MountSpan; readonly ended: readonly MountDay[] } {
  const first = day < span.firstDay ? { firstDay: day, firstAt: at } : {};
  return {
    span: { ...span, ...first, state, reason, day, began: at },
    ended: daysOf(span, workedOn),
  };
}

/** Reports whether a span has to begin anew, although the state of its mount is the same. */
export function isOutdated({ state, day, firstDay }: MountSpan, today: number): boolean {
  return today < firstDay || (state !== "works" && day !== today);
}

/**
 * Time of a span by day; a mount that works has none. The first list of a day follows midnight within
 * a minute, if the site can be read: until then the span lasts.
 */
export function daysOf(
  { siteId, path, state, day: first, began, reason }: MountSpan,
  workedOn: (day: number) => number,
): readonly MountDay[] {
  if (state === "works") return [];
  return [first, first + 1].flatMap((day) => {
    const time = Math.max(0, workedOn(day) - (day === first ? began : 0));
    if (time === 0) return [];
    const fails = state === "fails";
    return { siteId, path, day, failed: fails ? time : 0, unmonitored: fails ? 0 : time, reason };
  });
}
