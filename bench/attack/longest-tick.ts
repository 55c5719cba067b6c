// Loaded by the attacked server (node --import): measures each event-loop tick in processor time,
// which is independent of other processes, unlike wall time.
import { appendFileSync } from "node:fs";

/** Minimum length of a reported tick, in milliseconds. */
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
    // A timer fires at most once per tick: the time since the last call is one tick, or several
    // within two milliseconds.
    const now = used();
    if (now - last >= SHORTEST) {
      appendFileSync(file, `${(now - last).toFixed(1)}\n`);
      last = used();
    } else last = now;
  }, EVERY).unref();
}
