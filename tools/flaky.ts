// Runs a tier of the tests repeatedly, and prints each failure and how often its test has failed: a
// test that fails sometimes has a race, in itself or in the program.
//
//   npm run test:flaky -- N [--all] [--load] [--minutes=M] [FILE …]
//
// N runs of the tests of `npm test`, with --all of `npm run test:all`. --load keeps all cores busy.
// A run that takes longer than M minutes (30) is ended and counts as failed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { killTree } from "../bench/proc.ts";

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** Longest printed text of a failure, in characters. */
const MAX_MESSAGE = 2_000;
const ROOT = join(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: "boolean", default: false },
    load: { type: "boolean", default: false },
    minutes: { type: "string", default: "30" },
  },
});
const [count = "", ...files] = positionals;
const runs = Number(count);
const limit = Number(values.minutes) * 60_000;
if (!(Number.isInteger(runs) && runs > 0 && limit > 0)) {
  process.stderr.write("give the number of runs: npm run test:flaky -- 5 --load\n");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "mooring-flaky-"));
const children = new Set<ChildProcess>();
process.once("exit", () => {
  endAll();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

if (values.load)
  for (let core = 0; core < availableParallelism(); core += 1)
    start([process.execPath, "-e", "for (;;);"]);

/** Number of failed runs by test. */
const failures = new Map<string, number>();
for (let run = 1; run <= runs; run += 1) {
  const begun = performance.now();
  const failed = await runOnce(join(folder, `${run}.json`));
  for (const name of failed) failures.set(name, (failures.get(name) ?? 0) + 1);
  const seconds = Math.round((performance.now() - begun) / 1_000);
  say(`run ${run} of ${runs}: ${failed.size} failed, ${seconds} s`);
}
for (const [name, times] of [...failures].sort(([, a], [, b]) => b - a))
  say(`failed in ${times} of ${runs}: ${name}`);
process.exitCode = failures.size === 0 ? 0 : 1;
endAll();

/** @returns the names of the tests that have failed. */
async function runOnce(report: string): Promise<Set<string>> {
  const tier = values.all ? [] : ["--exclude", "test/slow/**"];
  const output = ["--reporter=json", `--outputFile=${report}`];
  const vitest = start(["vitest", "run", ...tier, ...output, ...files]);
  const timer = setTimeout(() => end(vitest), limit);
  const [status] = await once(vitest, "close");
  clearTimeout(timer);
  const failed = new Set<string>();
  for (const { name, status: outcome, assertionResults } of read(report)?.testResults ?? []) {
    const file = name.slice(ROOT.length + 1);
    const tests = assertionResults.filter((test) => test.status === "failed");
    for (const { fullName, failureMessages } of tests) {
      failed.add(`${file} > ${fullName}`);
      say(`${file} > ${fullName}\n${failureMessages?.join("\n").slice(0, MAX_MESSAGE) ?? ""}`);
    }
    if (outcome === "failed" && tests.length === 0) failed.add(`${file} as a whole`);
  }
  if (failed.size === 0 && status !== 0) failed.add(`the run itself (exit status ${status})`);
  return failed;
}

function start([command = "", ...args]: readonly string[]): ChildProcess {
  const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  children.add(child);
  // Its process id may be reused then.
  child.once("exit", () => children.delete(child));
  return child;
}

function end({ pid }: ChildProcess): void {
  if (pid !== undefined) killTree(pid);
}

function endAll(): void {
  for (const child of children) end(child);
}

function read(report: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return undefined;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
