import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type CpuProfile, type SelfTime, type Share, selfTime } from "./cpu-profile.ts";
import type { Experiment, Lab } from "./experiment.ts";
import { decimal, percent } from "./report.ts";

/** Microseconds between two samples. */
const INTERVAL = 200;
const SECONDS = 8;
const FUNCTIONS = 30;

/** Runs the first side of a contest under V8's profiler and says where its CPU time went. */
export async function profile(experiment: Experiment, lab: Lab): Promise<string> {
  if (experiment.open === undefined)
    throw new Error(`${experiment.name} is not under a steady load and has no profile`);
  const folder = lab.stage.folder();
  const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL}`];
  const [side] = await experiment.open({ ...lab, nodeFlags: flags });
  if (side?.server === undefined) throw new Error(`${experiment.name} has no server to profile`);
  await side.run(lab.plan.warmUp);
  const from = monotonicMicros();
  const { requests } = await side.run(SECONDS);
  const to = monotonicMicros();
  await side.server.stop();
  const own = `${dirname(resolve(lab.server))}/`;
  return profileText(experiment, selfTime(readProfile(folder), from, to, own), requests);
}

/** The largest file: helper processes and threads of a server write profiles too. */
function readProfile(folder: string): CpuProfile {
  const files = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
  const texts = files.map((name) => readFileSync(join(folder, name), "utf8"));
  const [largest] = texts.sort((a, b) => b.length - a.length);
  if (largest === undefined) throw new Error("the server left no profile: did it end by a signal?");
  return JSON.parse(largest) as CpuProfile;
}

function profileText(
  { name, title }: Experiment,
  { busyMicros, parts, functions }: SelfTime,
  requests: number,
): string {
  const line = ({ name: label, micros }: Share) =>
    `  ${decimal(micros / requests).padStart(6)} µs  ${percent(micros / busyMicros).padStart(5)}  ${label}`;
  return [
    `${name}: ${title}`,
    `${requests.toLocaleString("en-US")} requests under the profiler, ${decimal(busyMicros / requests)} µs of CPU time each (the profiler's own share included)`,
    "",
    "by part",
    ...parts.map(line),
    "",
    "by function",
    ...functions.slice(0, FUNCTIONS).map(line),
    "",
  ].join("\n");
}

/** V8's profiler reads the same monotonic clock. */
function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
