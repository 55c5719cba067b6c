// Loaded into a measured server by --import: writes its longest event loop turns since the last time
// into the file BENCH_TURN_FILE when it gets SIGUSR2.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks; a turn delays a look by its length. */
const RESOLUTION = 1;

const { BENCH_TURN_FILE: file } = process.env;
if (file !== undefined) {
  const turns = monitorEventLoopDelay({ resolution: RESOLUTION });
  turns.enable();
  let cpu = threadMicros();
  let longestCpu = 0;
  const look = (): void => {
    const now = threadMicros();
    longestCpu = Math.max(longestCpu, now - cpu);
    cpu = now;
  };
  setInterval(look, RESOLUTION).unref();
  process.on("SIGUSR2", () => {
    const longest = { millis: turns.max / 1e6 - RESOLUTION, cpuMillis: longestCpu / 1e3 };
    writeFileSync(file, JSON.stringify(longest));
    turns.reset();
    look();
    longestCpu = 0;
  });
}

/** What the event loop's thread has used of a processor: other threads and programs may keep it waiting. */
function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
