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

/** Growth that triggers a collection (about 30 ms) between large requests, in bytes. */
const LITTER = 16 * 1024 * 1024;

/**
 * Creates a collector for use between large requests: each leaves several times its size as garbage, and
 * V8 would wait until the heap has doubled.
 *
 * @param worth growth since the last collection that triggers one, in bytes. Default: 16 MiB.
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
 * Size of buffers and of the committed heap, in bytes. `process.memoryUsage` reads a file and throws when
 * no file descriptor is left.
 */
function taken(): number {
  const { external_memory: buffers, total_heap_size: heap } = getHeapStatistics();
  return buffers + heap;
}

/** V8 exposes its collector to contexts created after this flag. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  setFlagsFromString("--no-expose-gc");
}
