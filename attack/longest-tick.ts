// Loaded by the server that is attacked (node --import): measures each tick of its event loop in
// processor time, which the work of other processes does not lengthen as it does wall time.
import { appendFileSync } from "node:fs";

/** Shorter ticks are not reported, in milliseconds. */
const SHORTEST = 5;
const EVERY = 2;

const file = process.env["ATTACK_TICKS"];

/** Processor time of this thread, in milliseconds. */
function used(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

if (file !== undefined) {
  let last = used();
  setInterval(() => {
    // A timer fires once in a tick at most: what was used since the last time is one tick, or several
    // within two milliseconds.
    const now = used();
    if (now - last >= SHORTEST) {
      appendFileSync(file, `${(now - last).toFixed(1)}\n`);
      last = used();
    } else last = now;
  }, EVERY).unref();
}
