// Runs all quality gates, the cheapest first. With --ci the service is also attacked, and the last
// line counts tests and attacks: "N passed, N failed".
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failuresOf, readTestReport } from "./test-report.ts";

interface Gate {
  readonly name: string;
  readonly command: readonly string[];
  /** Time limit in minutes; default 5. A gate that takes longer is ended and fails. */
  readonly minutes?: number;
}

const folder = mkdtempSync(join(tmpdir(), "mooring-check-"));
const report = join(folder, "tests.json");
const forCi = process.argv.includes("--ci");
// Mark in the environment of all processes of a gate, including detached ones.
const mark = `RUN_OF_CHECKS=${randomUUID()}`;

const gates: readonly Gate[] = [
  { name: "contract: lint", command: ["node", "tools/buf.ts", "lint"] },
  {
    name: "contract: format",
    command: ["node", "tools/buf.ts", "format", "--diff", "--exit-code", "--path", "proto/mooring"],
  },
  { name: "contract: no breaking change", command: ["node", "tools/breaking.ts"] },
  { name: "generated code is up to date", command: ["node", "tools/generated.ts"] },
  { name: "format and lint", command: ["biome", "ci", "--error-on-warnings", "."] },
  { name: "types", command: ["tsc"] },
  { name: "types of the console", command: ["tsc", "--project", "src/console"] },
  { name: "types of the site", command: ["tsc", "--project", "tools/site/theme"] },
  {
    name: "tests",
    command: [
      "npm",
      "run",
      "test:all",
      "--silent",
      "--",
      ...["default", "./tools/skip-reporter.ts", "json"].map((name) => `--reporter=${name}`),
      `--outputFile=${report}`,
    ],
    minutes: 45,
  },
];
const attacks: Gate = {
  name: "attacks",
  command: ["node", "bench/attack/main.ts", "--quick", "--shared"],
  minutes: 20,
};

/** Runs a gate within its time limit. @returns whether it passed, and its output. */
function run({ name, command: [command = "", ...args], minutes = 5 }: Gate) {
  say(`\n== ${name}`);
  const [key, value] = mark.split("=") as [string, string];
  return new Promise<{ readonly passed: boolean; readonly printed: string }>((resolve) => {
    // No standard input: a tool that reads it would wait without limit.
    const gate = spawn(command, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, [key]: value },
    });
    let printed = "";
    gate.stdout.setEncoding("utf8").on("data", (text: string) => {
      process.stdout.write(text);
      printed += text;
    });
    const timer = setTimeout(() => {
      say(`\n${name}: not at its end after ${minutes} minutes, so it was ended`);
      gate.kill("SIGKILL");
    }, minutes * 60_000);
    // Remaining processes may keep the output open: "close" is emitted when they have ended too.
    gate.on("exit", () => endLeftovers(name));
    gate.on("close", (status) => {
      clearTimeout(timer);
      resolve({ passed: status === 0, printed });
    });
  });
}

/** Ends remaining processes of a gate, and names them. */
function endLeftovers(name: string): void {
  for (const entry of process.platform === "linux" ? readdirSync("/proc") : []) {
    try {
      if (!/^\d+$/.test(entry)) continue;
      if (!readFileSync(`/proc/${entry}/environ`, "latin1").split("\0").includes(mark)) continue;
      const command = readFileSync(`/proc/${entry}/cmdline`, "latin1").replaceAll("\0", " ").trim();
      if (command === "") continue;
      process.kill(Number(entry), "SIGKILL");
      say(`${name}: left behind and ended: ${command.slice(0, 160)}`);
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Names of failed gates, with the end of their output. */
const failed = new Map<string, string>();
for (const gate of gates) {
  const { passed, printed } = await run(gate);
  if (!passed) failed.set(gate.name, printed.slice(-3_000));
}
const attacked = { passed: 0, failed: 0 };
if (forCi) {
  const { passed, printed } = await run(attacks);
  const counts = /^(?<passed>\d+) passed, (?<failed>\d+) failed$/m.exec(printed)?.groups ?? {};
  attacked.passed = Number(counts["passed"] ?? 0);
  attacked.failed = Number(counts["failed"] ?? (passed ? 0 : 1));
}
const tests = readTestReport(report);
// Once more at the end, where a reader of this long output begins.
for (const [name, end] of failed) {
  say(`\nfailed: ${name}`);
  const failures = name === "tests" ? failuresOf(tests) : [];
  for (const { test, message } of failures) say(`${test}\n${message.slice(0, 1_000)}`);
  if (failures.length === 0) say(end);
}

if (forCi) {
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0 } = tests;
  const otherGates = failed.size - (failed.has("tests") ? 1 : 0);
  // A test file that cannot be loaded has no tests to count.
  const broken = failed.has("tests") && numFailedTests === 0 ? 1 : 0;
  if (numPendingTests > 0) say(`\n${numPendingTests} skipped`);
  const passed = numPassedTests + attacked.passed;
  say(`\n${passed} passed, ${numFailedTests + otherGates + broken + attacked.failed} failed`);
}
rmSync(folder, { recursive: true });
process.exitCode = failed.size + attacked.failed === 0 ? 0 : 1;
