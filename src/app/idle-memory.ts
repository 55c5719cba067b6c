import { getHeapStatistics } from "node:v8";
import { measureMemory } from "node:vm";

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
 * memory of the last requests would be kept for hours. A collection takes about 40 ms of processor
 * time beside other work, only after memory has grown and allocation has stopped.
 *
 * @returns a function that stops it.
 */
export function releaseWhenIdle(options: IdleMemoryOptions = {}): () => void {
  const { interval = 5_000, worth = 8 * 1024 * 1024 } = options;
  let kept = taken();
  let last = kept;
  const look = async (): Promise<void> => {
    const now = taken();
    const grows = now - last > STIR;
    last = now;
    kept = Math.min(kept, now);
    if (grows || now - kept < worth) return;
    await collectGarbage();
    last = taken();
    // V8 releases emptied memory at the next collection. Stops when nothing more is released.
    if (now - last < STIR) kept = last;
  };
  const timer = setInterval(() => void look(), interval).unref();
  return () => clearInterval(timer);
}

/** Growth that triggers a collection between large requests, in bytes. */
const LITTER = 16 * 1024 * 1024;

/**
 * Creates a collector for use between large requests: each leaves several times its size as garbage,
 * and V8 would wait until the heap has doubled. The next large request waits for the collection;
 * others do not.
 *
 * @param worth growth since the last collection that triggers one, in bytes. Default: 16 MiB.
 */
export function createCollector(worth = LITTER, collect = collectGarbage): () => Promise<void> {
  let kept = taken();
  return async () => {
    const now = taken();
    kept = Math.min(kept, now);
    if (now - kept < worth) return;
    await collect();
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

/**
 * Collects garbage beside other work: threads of V8 mark what is in use, and the event loop stops for
 * about 5 ms. `gc()` would stop it for the whole collection, 20 ms, on one processor 50.
 */
async function collectGarbage(): Promise<void> {
  const { emitWarning } = process;
  // Its only warning, that the function is experimental, is emitted in the call.
  process.emitWarning = () => undefined;
  let collected: Promise<unknown>;
  try {
    // V8 measures memory while it marks, so that a measurement is a collection.
    collected = measureMemory({ mode: "summary", execution: "eager" });
  } finally {
    process.emitWarning = emitWarning;
  }
  await collected;
}
