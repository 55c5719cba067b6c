// Loaded into a measured server by --import: on SIGUSR2, writes its longest event-loop ticks since
// the last signal into the file BENCH_TURN_FILE.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Interval of samples in milliseconds; a tick delays a sample by its length. */
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

/** CPU time of the event loop's thread, without waits for other threads and programs. */
function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
