import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface IdleMemoryOptions {
  /** How often to look, in milliseconds. Default 5,000. */
  readonly interval?: number;
  /** How many bytes more than after the last time are worth it. Default 8 MiB. */
  readonly worth?: number;
}

/** What comes and goes with a few requests, in bytes. */
const STIR = 2 * 1024 * 1024;

/**
 * Gives memory back after a flood of requests. V8 collects garbage when more memory is asked for, not
 * when less is: what the last requests took would stay for hours. Costs some 30 ms once, where memory
 * has piled up and no more is asked for.
 *
 * @returns what ends it.
 */
export function releaseWhenIdle(options: IdleMemoryOptions = {}): () => void {
  const { interval = 5_000, worth = 8 * 1024 * 1024 } = options;
  let kept = taken();
  let last = kept;
  const timer = setInterval(() => {
    const now = taken();
    const grows = now - last > STIR;
    last = now;
    kept = Math.min(kept, now);
    if (grows || now - kept < worth) return;
    collectGarbage();
    last = taken();
    // What V8 has emptied it gives back at the next time only. When nothing more comes, that is it.
    if (now - last < STIR) kept = last;
  }, interval).unref();
  return () => clearInterval(timer);
}

/** Bytes of garbage that are worth 30 ms where large requests come one after another. */
const LITTER = 16 * 1024 * 1024;

/**
 * Makes what collects garbage between large requests: each leaves several times its size, and V8 would
 * wait until the heap has doubled.
 *
 * @param worth how many bytes more than after the last time. Default 16 MiB.
 */
export function createCollector(worth = LITTER, collect = collectGarbage): () => void {
  let kept = taken();
  return () => {
    const now = taken();
    kept = Math.min(kept, now);
    if (now - kept < worth) return;
    collect();
    kept = taken();
  };
}

/**
 * Bytes of buffers, and of the heap with the room that it has for more. Node's own `memoryUsage` reads a
 * file, and throws where no descriptor is left.
 */
function taken(): number {
  const { external_memory: buffers, total_heap_size: heap } = getHeapStatistics();
  return buffers + heap;
}

/** V8 shows its collector to contexts that are made after this flag. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  setFlagsFromString("--no-expose-gc");
}
