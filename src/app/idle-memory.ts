import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface IdleMemoryOptions {
  /** Interval of checks, in milliseconds. Default: 5,000. */
  readonly interval?: number;
  /** Growth since the last release that triggers another one, in bytes. Default: 8 MiB. */
  readonly worth?: number;
}

/** Normal fluctuation by a few requests, in bytes. */
const STIR = 2 * 1024 * 1024;

/**
 * Releases memory after a burst of requests. V8 collects garbage when memory is allocated, so that
 * memory of the last requests would be kept for hours. It costs about 30 ms, only after memory has
 * grown and allocation has stopped.
 *
 * @returns a function that stops it.
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
    // V8 releases emptied memory at the next collection. Stops when nothing more is released.
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
