// Loaded into a measured server by --import. Each SIGUSR2 runs the next of three steps: the first
// starts counting collections, the second writes their share of the CPU time into
// BENCH_GARBAGE_FILE and starts sampling allocations, the third writes the allocated bytes.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { PerformanceObserver } from "node:perf_hooks";

/** Bytes between two samples, on average. */
const INTERVAL = 4_096;

const { BENCH_GARBAGE_FILE: file } = process.env;
if (file !== undefined) {
  let collecting = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collecting += duration;
  });
  const session = new Session();
  session.connect();
  let cpu = process.cpuUsage();
  const steps: readonly (() => void | Promise<void>)[] = [
    () => {
      observer.observe({ entryTypes: ["gc"] });
      cpu = process.cpuUsage();
    },
    async () => {
      observer.disconnect();
      const { user, system } = process.cpuUsage(cpu);
      await session.post("HeapProfiler.startSampling", {
        samplingInterval: INTERVAL,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      report({ collectingShare: collecting / ((user + system) / 1_000) });
    },
    async () => {
      const { profile } = await session.post("HeapProfiler.stopSampling");
      report({ bytes: bytesIn(profile.head) });
    },
  ];
  let step = 0;
  process.on("SIGUSR2", () => void steps[step++]?.());
}

interface Allocations {
  readonly selfSize: number;
  readonly children: readonly Allocations[];
}

function bytesIn({ selfSize, children }: Allocations): number {
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize);
}

function report(figures: object): void {
  if (file !== undefined) writeFileSync(file, JSON.stringify(figures));
}
