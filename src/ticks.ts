import { setImmediate as nextTick } from "node:timers/promises";

/** Longest part of a job in one tick of the event loop, in milliseconds. */
const LONGEST = 8;

/**
 * Divides a job into parts, each in a tick of the event loop of its own, so that other requests are
 * served in between. A loop of the job begins each step with `if (ticks.isDue()) await ticks.next()`.
 */
export interface Ticks {
  /** Whether the job has run as long in this tick as it may. */
  isDue(): boolean;
  /** Resolves in the next tick. */
  next(): Promise<void>;
}

/** Begins a job. @param longest part of it in one tick, in milliseconds. Default: 8. */
export function createTicks(longest = LONGEST): Ticks {
  let begun = performance.now();
  return {
    isDue: () => performance.now() - begun >= longest,
    next: async () => {
      await nextTick();
      begun = performance.now();
    },
  };
}
