// All quality gates in one script, in the order in which a mistake is cheapest to find. With --ci
// the last line counts the tests: "N passed, N failed".
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Gate {
  readonly name: string;
  readonly command: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), "mooring-check-"));
const report = join(folder, "tests.json");

const gates: readonly Gate[] = [
  { name: "contract: lint", command: ["buf", "lint"] },
  { name: "contract: format", command: ["buf", "format", "--diff", "--exit-code", "proto"] },
  { name: "contract: no breaking change", command: ["node", "tools/breaking.ts"] },
  { name: "generated code is up to date", command: ["node", "tools/generated.ts"] },
  { name: "format and lint", command: ["biome", "ci", "--error-on-warnings", "."] },
  { name: "types", command: ["tsc"] },
  {
    name: "tests",
    command: ["vitest", "run", "--reporter=default", "--reporter=json", `--outputFile=${report}`],
  },
];

function run([command = "", ...args]: readonly string[], loud = false): boolean {
  return spawnSync(command, args, { stdio: loud ? "inherit" : "ignore" }).status === 0;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const failed = gates.filter(({ name, command }) => {
  say(`\n== ${name}`);
  return !run(command, true);
});
for (const { name } of failed) say(`\nfailed: ${name}`);

if (process.argv.includes("--ci")) {
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0 } = readReport();
  const otherGates = failed.filter(({ name }) => name !== "tests").length;
  // A test file that cannot even be loaded has no tests to count.
  const broken = failed.some(({ name }) => name === "tests") && numFailedTests === 0 ? 1 : 0;
  if (numPendingTests > 0) say(`\n${numPendingTests} skipped`);
  say(`\n${numPassedTests} passed, ${numFailedTests + otherGates + broken} failed`);
}
rmSync(folder, { recursive: true });
process.exitCode = failed.length === 0 ? 0 : 1;

function readReport(): Partial<
  Record<"numPassedTests" | "numFailedTests" | "numPendingTests", number>
> {
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return {};
  }
}
