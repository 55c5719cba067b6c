// Runs a tier of the tests repeatedly, and prints how often each test has failed: a test that fails
// sometimes has a race, in itself or in the program.
//
//   npm run test:flaky -- N [--all] [--load] [--minutes=M] [FILE …]
//
// N runs of the tests of `npm test`, with --all of `npm run test:all`. --load keeps all cores busy.
// A run that takes longer than M minutes (30) is ended and counts as failed.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { failuresOf, readTestReport } from "./test-report.ts";

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
const minutes = Number(values.minutes);
if (!(Number.isInteger(runs) && runs > 0 && minutes > 0)) {
  process.stderr.write("give the number of runs: npm run test:flaky -- 5 --load\n");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "mooring-flaky-"));
// Each ends with this process: its standard input is then closed.
const load = Array.from({ length: values.load ? availableParallelism() : 0 }, () =>
  spawn("sh", ["-c", "(while :; do :; done) & read -r _; kill $!"], {
    stdio: ["pipe", "ignore", "inherit"],
  }),
);
/** Number of failed runs by test. */
const failures = new Map<string, number>();
for (let run = 1; run <= runs; run += 1) {
  const failed = runOnce(join(folder, `${run}.json`));
  for (const name of failed) failures.set(name, (failures.get(name) ?? 0) + 1);
  process.stdout.write(`run ${run} of ${runs}: ${failed.length} failed\n`);
}
for (const [name, times] of [...failures].sort(([, a], [, b]) => b - a))
  process.stdout.write(`failed in ${times} of ${runs}: ${name}\n`);
for (const busy of load) busy.stdin.end();
rmSync(folder, { recursive: true });
process.exitCode = failures.size === 0 ? 0 : 1;

/** Prints the failures of a run. @returns the names of the tests that have failed. */
function runOnce(report: string): string[] {
  const tier = values.all ? [] : ["--exclude", "test/slow/**"];
  const output = ["--reporter=dot", "--reporter=json", `--outputFile=${report}`];
  const vitest = ["vitest", "run", ...tier, ...output, ...files];
  // `timeout` ends the processes of the run, too.
  const { status } = spawnSync("timeout", [`${minutes}m`, ...vitest], { stdio: "inherit" });
  if (status === 0) return [];
  const failed = failuresOf(readTestReport(report)).map(({ test }) => test);
  return failed.length > 0 ? failed : [`the run itself (exit status ${status})`];
}
