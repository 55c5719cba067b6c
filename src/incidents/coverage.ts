import { type Message, message, type Text } from "../messages/message.ts";

/** An enabled mount of a site, with what is known about it. */
export interface LookedMount {
  readonly site: string;
  readonly path: string;
  /** Time of the last listing at its provider, in milliseconds since 1970 UTC; 0: none. */
  readonly listedAt: number;
  /** Whether it does not work, as far as is known. */
  readonly isFailing: boolean;
}

/** A site whose mounts are not read at the moment. */
export interface UnreadSite {
  readonly site: string;
  /** Reason; empty: it is paused. */
  readonly cause: Text;
  /** Time of the last read; 0: never. */
  readonly readAt: number;
}

/** Basis of the list of open incidents: how many mounts were listed, and when. */
export interface Coverage {
  readonly mounts: readonly LookedMount[];
  readonly unread: readonly UnreadSite[];
  /** Interval of the probes in milliseconds; 0: none. */
  readonly interval: number;
}

/** Maximum number of names in a sentence. */
const MAX_NAMED = 5;

/**
 * Text of the coverage of a list without incidents: how many mounts were listed and when, which were
 * not, and which sites are not read. Without it, an empty list would suggest that all mounts work.
 */
export function coverageText({ mounts, unread, interval }: Coverage): readonly Message[] {
  const unlisted = mounts.filter(({ listedAt }) => listedAt === 0);
  const listed = mounts.filter(({ listedAt }) => listedAt > 0);
  const failing = mounts.filter(({ isFailing }) => isFailing);
  const oldest = timeText(oldestListing(listed));
  const total = mounts.length;
  return [
    message("NO_INCIDENTS"),
    ...(total === 0 ? [message("NO_MOUNTS_ON_SITES")] : []),
    ...(failing.length > 0
      ? [message("MOUNTS_FAIL", { count: failing.length, names: namesOf(failing) })]
      : []),
    ...(unlisted.length > 0
      ? [
          message("MOUNTS_NOT_LISTED", {
            count: unlisted.length,
            total,
            names: namesOf(unlisted),
          }),
        ]
      : []),
    ...(listed.length > 0
      ? [message("MOUNTS_LISTED", { count: listed.length, total, time: oldest })]
      : []),
    ...unread.slice(0, MAX_NAMED).map(({ site, cause, readAt }) =>
      message("SITE_NOT_READ", {
        site,
        cause: cause === "" ? message("SITE_IS_PAUSED") : cause,
        time: readAt === 0 ? message("NEVER") : timeText(readAt),
      }),
    ),
    ...(unlisted.length > 0 ? [message(interval === 0 ? "PROBES_ARE_OFF" : "LIST_NOW")] : []),
  ];
}

/** Time of the oldest of these listings; Infinity: there is none. */
export function oldestListing(listed: readonly LookedMount[]): number {
  // No spread: a call has at most about a hundred thousand arguments.
  return listed.reduce((oldest, { listedAt }) => Math.min(oldest, listedAt), Infinity);
}

/** Names such as `home /films, home /music, … (+3)`. */
function namesOf(mounts: readonly LookedMount[]): string {
  const names = mounts.slice(0, MAX_NAMED).map(({ site, path }) => `${site} ${path}`);
  const more = mounts.length - names.length;
  return [...names, ...(more > 0 ? [`… (+${more})`] : [])].join(", ");
}

/** Time such as `2026-11-26 15:10 UTC`. */
function timeText(time: number): string {
  return Number.isFinite(time)
    ? `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`
    : "";
}
