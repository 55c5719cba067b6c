/** Median of numbers; NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Quantile `q` (0 to 1) of numbers, interpolated; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

/**
 * Ratio of each round: a temporary slowdown of the machine affects both sides of a round, so ratios
 * are more stable than absolute figures.
 */
export function ratiosOf(of: readonly number[], against: readonly number[]): number[] {
  return of.flatMap((value, round) => {
    const other = against[round];
    return other === undefined ? [] : [value / other];
  });
}
