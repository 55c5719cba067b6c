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

/** A comparison over several rounds. */
export interface Compared {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/**
 * Divides round by round and takes the median of that: what slows the machine down for a while slows
 * both sides of a round, so the ratio holds where the absolute figures move.
 */
export function ratioOf(of: readonly number[], against: readonly number[]): Compared {
  return compared(of, against, (one, other) => one / other);
}

/** Subtracts round by round, likewise. */
export function differenceOf(of: readonly number[], against: readonly number[]): Compared {
  return compared(of, against, (one, other) => one - other);
}

function compared(
  of: readonly number[],
  against: readonly number[],
  compare: (one: number, other: number) => number,
): Compared {
  const values = of.flatMap((value, round) => {
    const other = against[round];
    return other === undefined ? [] : [compare(value, other)];
  });
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}
