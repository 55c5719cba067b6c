// Yardstick: better-sqlite3 in a loop, as durable as Mooring (WAL, synchronous=FULL). Arguments:
// database file, rows of one commit, seconds. Prints the result as JSON.
import SQLite from "better-sqlite3";
import { median } from "../statistics.ts";

const [file = "", rowsText = "1", secondsText = "1"] = process.argv.slice(2);
const rows = Number(rowsText);
const seconds = Number(secondsText);
/** Time of commits that are not counted, in milliseconds. */
const WARM_UP = 300;

const db = new SQLite(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("create table if not exists item (key text primary key, value text not null)");
const upsert = db.prepare(
  "insert into item (key, value) values (?, ?) on conflict (key) do update set value = excluded.value",
);
let counter = Date.now() * 1_000;
const commit = db.transaction(() => {
  for (let row = 0; row < rows; row++) upsert.run(`bench_${row}`, `bench-value-${counter++}`);
});

loop(WARM_UP);
const cpu = process.cpuUsage();
const times = loop(seconds * 1_000);
const used = process.cpuUsage(cpu);
db.close();
const elapsed = times.reduce((total, time) => total + time, 0) / 1_000;
process.stdout.write(
  JSON.stringify({
    requests: times.length * rows,
    seconds: elapsed,
    medianMillis: median(times),
    cpuMicros: used.user + used.system,
  }),
);

/** Commits until the end of the time. @returns the time of each commit in milliseconds. */
function loop(milliseconds: number): number[] {
  const taken: number[] = [];
  let now = performance.now();
  const deadline = now + milliseconds;
  while (now < deadline) {
    commit();
    const after = performance.now();
    taken.push(after - now);
    now = after;
  }
  return taken;
}
