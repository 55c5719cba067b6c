import { setImmediate as nextTick } from "node:timers/promises";

/** Maximum time of a job in one tick of the event loop, in milliseconds. */
const LONGEST = 8;

/**
 * Divides a job among ticks of the event loop, so that other requests are served in between. A loop
 * of the job begins each step with `if (ticks.isDue()) await ticks.next()`.
 */
export interface Ticks {
  /** Reports whether the job has used its time in this tick. */
  isDue(): boolean;
  /** Resolves in the next tick. */
  next(): Promise<void>;
}

/** Begins a job. @param longest maximum time per tick, in milliseconds. Default: 8. */
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
