// Loaded into a measured server by --import: writes its longest event loop turn since the last time
// into the file BENCH_TURN_FILE when it gets SIGUSR2.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks; a turn delays a look by its length. */
const RESOLUTION = 1;

const { BENCH_TURN_FILE: file } = process.env;
if (file !== undefined) {
  const turns = monitorEventLoopDelay({ resolution: RESOLUTION });
  turns.enable();
  process.on("SIGUSR2", () => {
    writeFileSync(file, JSON.stringify({ longest: turns.max / 1e6 - RESOLUTION }));
    turns.reset();
  });
}
