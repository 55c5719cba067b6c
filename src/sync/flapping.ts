/** Period in which corrections of one subject are counted, in milliseconds. */
const PERIOD = 600_000;
/** Number of corrections within the period after which the subject is no longer corrected. */
const MAX_CORRECTIONS = 3;

/** Times of the corrections that count at a time. @param times milliseconds since 1970 UTC. */
export function recentCorrections(times: readonly number[], now: number): readonly number[] {
  return times.filter((each) => Math.abs(now - each) < PERIOD);
}

/**
 * Counts a correction of a subject that another client has changed on its server.
 *
 * @param times of its earlier corrections.
 * @returns the times with this one; without it if the subject is flapping and is not corrected.
 */
export function countCorrection(
  times: readonly number[],
  now: number,
): { readonly times: readonly number[]; readonly isFlapping: boolean } {
  const recent = recentCorrections(times, now);
  const isFlapping = recent.length >= MAX_CORRECTIONS;
  return { times: isFlapping ? recent : [...recent, now], isFlapping };
}
