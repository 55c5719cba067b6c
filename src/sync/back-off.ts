/** Bounds of the pauses between attempts, in milliseconds. */
export interface BackOff {
  /** Pause after the first failure. It doubles with each further one. */
  readonly first: number;
  readonly longest: number;
}

/** Pause after a number of consecutive failures, in milliseconds. */
export function pauseAfter(failures: number, { first, longest }: BackOff): number {
  const doublings = Math.max(0, Math.min(failures - 1, 20));
  return Math.min(first * 2 ** doublings, longest);
}
