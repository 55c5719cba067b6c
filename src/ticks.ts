import { setImmediate as nextTick } from "node:timers/promises";

/** Maximum time of jobs in one tick of the event loop, in milliseconds. */
const LONGEST = 8;
/**
 * The same for archives of a whole site, which take seconds: a call waits for up to three ticks. Replies
 * have longer ones: many are made at the same time, and stay in memory until they are complete.
 */
export const LONGEST_OF_ARCHIVE = 2;

/**
 * Divides a job among ticks of the event loop, so that other requests are served in between. A loop
 * of the job begins each step with `if (ticks.isDue()) await ticks.next()`. The jobs of the process
 * share the time of a tick, and of those that wait one continues in each tick.
 */
export interface Ticks {
  /** Reports whether jobs have used their time in this tick. */
  isDue(): boolean;
  /** Resolves in a later tick: the next one, unless other jobs wait. */
  next(): Promise<void>;
}

/** When the jobs of this tick began; undefined: none has. */
let begun: number | undefined;
/** Tick of the last job that waits. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Begins a job.
 *
 * @param signal ends the job: its next tick rejects with the reason of the signal.
 * @param longest maximum time in one tick, in milliseconds. Default: 8.
 */
export function createTicks(signal?: AbortSignal, longest = LONGEST): Ticks {
  beginTick();
  return {
    isDue: () => performance.now() - beginTick() >= longest,
    next: async () => {
      last = last.then(() => nextTick());
      await last;
      signal?.throwIfAborted();
      beginTick();
    },
  };
}

function beginTick(): number {
  if (begun === undefined) {
    begun = performance.now();
    void nextTick().then(() => {
      begun = undefined;
    });
  }
  return begun;
}

/** Maps items in ticks of the event loop. @param signal ends it. @param longest as in `createTicks`. */
export async function mapInTicks<T, U>(
  items: readonly T[],
  map: (item: T) => U,
  signal?: AbortSignal,
  longest?: number,
): Promise<U[]> {
  const ticks = createTicks(signal, longest);
  const mapped: U[] = [];
  for (const item of items) {
    if (ticks.isDue()) await ticks.next();
    mapped.push(map(item));
  }
  return mapped;
}
