// Loaded into a measured server by --import (bench/probe/inside.ts): on each SIGUSR2, writes a report of
// the kind BENCH_INSIDE as JSON into the file BENCH_FILE.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import type { Garbage, Kind, Tick } from "./probe/inside.ts";

/** Interval of samples in milliseconds; a tick delays a sample by its length. */
const RESOLUTION = 1;
/** Bytes between two samples of allocations, on average. */
const INTERVAL = 4_096;

const { BENCH_INSIDE: kind = "", BENCH_FILE: file = "" } = process.env;
const start: Readonly<Record<Kind, () => () => object | Promise<object>>> = { tick, garbage };
if (kind in start) {
  const next = start[kind as Kind]();
  process.on("SIGUSR2", async () => writeFileSync(file, JSON.stringify(await next())));
}

/** Each report has the longest event-loop tick since the last one. */
function tick(): () => Tick {
  const ticks = monitorEventLoopDelay({ resolution: RESOLUTION });
  ticks.enable();
  let cpu = threadMicros();
  let longestCpu = 0;
  const look = (): void => {
    const now = threadMicros();
    longestCpu = Math.max(longestCpu, now - cpu);
    cpu = now;
  };
  setInterval(look, RESOLUTION).unref();
  return () => {
    const longest = { millis: ticks.max / 1e6 - RESOLUTION, cpuMillis: longestCpu / 1e3 };
    ticks.reset();
    look();
    longestCpu = 0;
    return longest;
  };
}

/** CPU time of the event loop's thread, without waits for other threads and programs. */
function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/**
 * The first report starts counting collections, the second has their share of the CPU time and
 * starts sampling allocations, the third has the allocated bytes.
 */
function garbage(): () => Promise<Garbage> {
  let collecting = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collecting += duration;
  });
  const session = new Session();
  session.connect();
  let cpu = process.cpuUsage();
  const steps: readonly (() => Promise<Garbage>)[] = [
    async () => {
      observer.observe({ entryTypes: ["gc"] });
      cpu = process.cpuUsage();
      return {};
    },
    async () => {
      observer.disconnect();
      const { user, system } = process.cpuUsage(cpu);
      await session.post("HeapProfiler.startSampling", {
        samplingInterval: INTERVAL,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      return { collectingShare: collecting / ((user + system) / 1_000) };
    },
    async () => {
      const { profile } = await session.post("HeapProfiler.stopSampling");
      return { bytes: bytesIn(profile.head) };
    },
  ];
  let step = 0;
  return async () => (await steps[step++]?.()) ?? {};
}

interface Allocations {
  readonly selfSize: number;
  readonly children: readonly Allocations[];
}

function bytesIn({ selfSize, children }: Allocations): number {
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize);
}
