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

/**
 * Corrections of a subject after a round.
 *
 * @param times of its earlier corrections. @param round.drifted whether it was changed on the server,
 *   so that the round corrects it. @param round.isRequested whether a user has requested it: the count
 *   begins again.
 */
export function correctionsAfter(
  times: readonly number[],
  {
    drifted,
    isRequested,
    now,
  }: { readonly drifted: boolean; readonly isRequested: boolean; readonly now: number },
): { readonly corrections: readonly number[]; readonly isFlapping: boolean } {
  if (isRequested) return { corrections: [], isFlapping: false };
  if (!drifted) return { corrections: recentCorrections(times, now), isFlapping: false };
  const counted = countCorrection(times, now);
  const { isFlapping } = counted;
  return { corrections: isFlapping ? times : counted.times, isFlapping };
}
