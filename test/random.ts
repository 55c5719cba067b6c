/** Random choices, repeatable by a seed. */
export interface Random {
  /** A number from 0 to below 1. */
  next(): number;
  /** An integer from 0 to `most`. */
  upTo(most: number): number;
  /** An integer from 0 to less than `bound`. */
  below(bound: number): number;
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** @param seed an integer (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    upTo: (most) => below(most + 1),
    below,
    chance: (share) => next() < share,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
  };
}
