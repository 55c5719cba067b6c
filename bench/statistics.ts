/** Middle of the numbers; the mean of the two middle ones when their count is even. NaN for none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  return quantile(values, 0.5);
}

/** The value that the share `q` (0 to 1) of the numbers stays under, interpolated. NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

/**
 * Ratio of each round: what slows the machine down for a while slows both sides of a round, so ratios
 * hold where absolute figures move.
 */
export function ratiosOf(of: readonly number[], against: readonly number[]): number[] {
  return byRound(of, against, (one, other) => one / other);
}

/** Difference of each round. */
export function differencesOf(of: readonly number[], against: readonly number[]): number[] {
  return byRound(of, against, (one, other) => one - other);
}

function byRound(
  of: readonly number[],
  against: readonly number[],
  compare: (one: number, other: number) => number,
): number[] {
  return of.flatMap((value, round) => {
    const other = against[round];
    return other === undefined ? [] : [compare(value, other)];
  });
}
