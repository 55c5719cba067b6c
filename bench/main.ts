import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { gateway } from "./contest/gateway.ts";
import { postgresChange } from "./contest/postgres.ts";
import { connectPublic, grpcPublic, grpcSetting, restPublic, restSetting } from "./contest/read.ts";
import { saveMany, saveOne } from "./contest/save.ts";
import { upstreamRequest, upstreamTransfer } from "./contest/upstream.ts";
import { experimentOf } from "./contest.ts";
import {
  type Experiment,
  type Finding,
  fullPlan,
  type Lab,
  NotMeasurable,
  quickPlan,
} from "./experiment.ts";
import { describeMachine, type Head } from "./machine.ts";
import { makePackage, SOURCE } from "./mooring.ts";
import { backupAndRestore } from "./probe/backup.ts";
import { consoleInBrowser } from "./probe/console.ts";
import { mountFollow } from "./probe/mounts.ts";
import { siteSave } from "./probe/site.ts";
import { idleMemory, startTime } from "./probe/start.ts";
import { watch } from "./probe/watch.ts";
import { profile } from "./profile.ts";
import { installHint, missingPrograms, type Program } from "./program.ts";
import {
  findingMarkdown,
  headMarkdown,
  resultsMarkdown,
  targetMarkdown,
  withResults,
} from "./report.ts";
import { createBenchStage, type Stage } from "./stage.ts";

const performanceDocument = new URL("../docs/performance.md", import.meta.url);

/** All experiments, in the order of the report. */
const experiments: readonly Experiment[] = [
  ...[restPublic, restSetting].map(experimentOf),
  ...[grpcPublic, grpcSetting, connectPublic].map(experimentOf),
  gateway,
  experimentOf(upstreamRequest),
  upstreamTransfer,
  ...[saveMany, saveOne].map(experimentOf),
  postgresChange,
  watch,
  startTime,
  idleMemory,
  consoleInBrowser,
  siteSave,
  mountFollow,
  backupAndRestore,
];

const usage = `Usage: npm run bench -- [options] [NAME…]

Measures Mooring beside its yardsticks: servers on core 0, load generators on core 1.

  NAME             only this experiment, as --only
  --quick          a look in under two minutes instead of twenty
  --only NAME      only this experiment; may be repeated or a list with commas
  --json FILE      writes every figure of every round
  --write-docs     puts the results into docs/performance.md
  --profile NAME   shows where the CPU time of this experiment's server goes, and measures nothing
  --server FILE    measures this program, such as src/main.ts, and not the package that a build makes
  --list           names of the experiments
  --help           this text
`;

/** Result of a run. */
interface Outcome {
  readonly findings: Finding[];
  /** Reasons for skipped experiments. */
  readonly skipped: string[];
  /** Reasons for failed experiments. */
  readonly failed: string[];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

type Options = ReturnType<typeof parseOptions>;

/** Parses the arguments. @throws TypeError that names an invalid one. */
function parseOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      "write-docs": { type: "boolean", default: false },
      profile: { type: "string" },
      server: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const only = [...values.only, ...positionals].flatMap((names) => names.split(","));
  return { ...values, only: only.filter((name) => name !== "") };
}

/**
 * Runs the bench. @returns the exit code: 1 when an experiment failed; a missed target is not a
 * failure.
 */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) return print(usage);
  if (options.list)
    return print(experiments.map(({ name, title }) => `${name.padEnd(16)} ${title}\n`).join(""));
  const list = chosen(options.profile === undefined ? options.only : [options.profile]);
  const { PATH = "" } = process.env;
  const missing = missingPrograms(PATH);
  if (missing.includes("taskset")) throw new Error(installHint("taskset"));
  const stage = await createBenchStage();
  try {
    const lab = await labOf(options, stage);
    const [profiled] = list;
    if (options.profile !== undefined && profiled !== undefined)
      return print(await profile(profiled, lab));
    const head = await describeMachine(stage, missing, ["npm run bench --", ...args].join(" "));
    print(`${headMarkdown(head)}\n\n`);
    const outcome = await runAll(list, lab, missing);
    print(`${targetMarkdown(outcome.findings)}\n`);
    keepResults(options, head, outcome);
    return outcome.failed.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

async function labOf(options: Options, stage: Stage): Promise<Lab> {
  // Profiles run from source, because they name functions by their files.
  const server = options.server ?? (options.profile === undefined ? undefined : SOURCE);
  return {
    stage,
    plan: options.quick ? quickPlan : fullPlan,
    server: server === undefined ? await makePackage(stage) : resolve(server),
    nodeFlags: [],
    quick: options.quick,
  };
}

async function runAll(
  list: readonly Experiment[],
  lab: Lab,
  missing: readonly Program[],
): Promise<Outcome> {
  const outcome: Outcome = { findings: [], skipped: [], failed: [] };
  for (const experiment of list) {
    const lacking = experiment.needs.find((program) => missing.includes(program));
    if (lacking !== undefined) skip(outcome, `${experiment.name}: ${installHint(lacking)}`);
    else await runOne(experiment, lab, outcome);
    await lab.stage.close();
  }
  return outcome;
}

async function runOne(experiment: Experiment, lab: Lab, outcome: Outcome): Promise<void> {
  try {
    const { name, title } = experiment;
    const finding = { name, title, ...(await experiment.measure(lab)) };
    outcome.findings.push(finding);
    print(`${findingMarkdown(finding)}\n\n`);
  } catch (error) {
    const reason = `${experiment.name}: ${error instanceof Error ? error.message : String(error)}`;
    if (error instanceof NotMeasurable) skip(outcome, reason);
    else {
      outcome.failed.push(reason);
      print(`FAILED ${reason}\n\n`);
    }
  }
}

function skip(outcome: Outcome, reason: string): void {
  outcome.skipped.push(reason);
  print(`skipped ${reason}\n\n`);
}

function keepResults(options: Options, head: Head, outcome: Outcome): void {
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ head, ...outcome }, null, 2)}\n`);
  if (!options["write-docs"]) return;
  const left = [...outcome.skipped, ...outcome.failed];
  const results = resultsMarkdown(head, outcome.findings, left);
  const document = readFileSync(performanceDocument, "utf8");
  writeFileSync(performanceDocument, withResults(document, results));
}

/** @throws Error that names an unknown experiment. */
function chosen(names: readonly string[]): readonly Experiment[] {
  const unknown = names.find((name) => !experiments.some((each) => each.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no experiment "${unknown}": see npm run bench -- --list`);
  return names.length === 0 ? experiments : experiments.filter(({ name }) => names.includes(name));
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
