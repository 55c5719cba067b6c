import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Experiment, Lab } from "./experiment.ts";
import { decimal, percent } from "./report.ts";

/** Microseconds between two samples. */
const INTERVAL = 200;
const SECONDS = 8;
const FUNCTIONS = 30;

/**
 * Runs the first side of a contest under V8's profiler and returns its CPU time by part and
 * function.
 */
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

/** Reads the largest profile: helper processes and threads of a server write profiles too. */
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

/** Monotonic time, as in V8's profiler. */
function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** Used members of a `.cpuprofile` file (Chrome DevTools Protocol, Profiler.Profile). */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** Microseconds of the clock of `performance.now` and `process.hrtime`. */
  readonly startTime: number;
  /** Node on top of the stack at each sample. */
  readonly samples: readonly number[];
  /** Microseconds from each sample to the next. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

/** Part of the program. */
interface Share {
  readonly name: string;
  /** Microseconds on top of the stack. */
  readonly micros: number;
}

/** Self time by part and by function. */
interface SelfTime {
  readonly busyMicros: number;
  readonly parts: readonly Share[];
  readonly functions: readonly Share[];
}

/** Parts by folder of `node_modules`; the first match applies. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/@grpc\//, "grpc-js"],
  [/@connectrpc\//, "connect"],
  [/@bufbuild\//, "protobuf"],
  [/better-sqlite3|kysely/, "sqlite and kysely"],
  [/pino|sonic-boom|thread-stream/, "pino"],
  [/fastify|find-my-way|avvio|light-my-request|fast-|secure-json-parse/, "fastify"],
];

/** Own functions that run statements: native calls of SQLite count as their callers. */
const STATEMENTS = /\/store\/setting-(?:transaction|write)\.[jt]s$/;

/** V8's names for time outside of functions. */
const SPECIAL: Readonly<Record<string, string>> = {
  "(garbage collector)": "garbage collector",
  "(program)": "native code and system calls",
  "(idle)": "idle",
};

/**
 * Sums the self time of functions.
 *
 * @param from begin and @param to end of the measured time, in microseconds of the profile's
 *   clock.
 * @param own common part of the paths of the program's own files, such as `/src/`.
 */
export function selfTime(profile: CpuProfile, from: number, to: number, own: string): SelfTime {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parts = new Map<string, number>();
  const functions = new Map<string, number>();
  let time = profile.startTime;
  for (const [at, id] of profile.samples.entries()) {
    time += profile.timeDeltas[at] ?? 0;
    const node = nodes.get(id);
    const lasted = profile.timeDeltas[at + 1] ?? 0;
    if (node === undefined || time < from || time > to) continue;
    const part = partOf(node, own);
    if (part === "idle") continue;
    add(parts, part, lasted);
    add(functions, `${part}: ${nameOf(node)}`, lasted);
  }
  const shares = sorted(parts);
  const busyMicros = shares.reduce((sum, { micros }) => sum + micros, 0);
  return { busyMicros, parts: shares, functions: sorted(functions) };
}

function partOf({ callFrame: { functionName, url } }: ProfileNode, own: string): string {
  const special = SPECIAL[functionName];
  if (special !== undefined) return special;
  if (url.startsWith("node:")) return "node";
  const module = url.split("/node_modules/").at(-1) ?? "";
  if (url.includes("/node_modules/"))
    return PACKAGES.find(([pattern]) => pattern.test(module))?.[1] ?? "other packages";
  if (STATEMENTS.test(url)) return "sqlite and kysely";
  if (url.includes(own)) return "own code";
  return url === "" ? "native functions" : "other code";
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === "" ? "(anonymous)" : functionName;
  const file = url.split("/").slice(-2).join("/");
  return file === "" ? name : `${name} (${file}:${lineNumber + 1})`;
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function sorted(sums: ReadonlyMap<string, number>): Share[] {
  return [...sums].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);
}
