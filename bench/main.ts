import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { chosenOf, commonOptions, listText, messageOf, print, runProgram } from "./command.ts";
import { frontDownload, frontRequest, frontUpload } from "./contest/front.ts";
import { gateway } from "./contest/gateway.ts";
import { connectPublic, grpcPublic, grpcSetting, restPublic, restSetting } from "./contest/read.ts";
import { saveMany, saveOne } from "./contest/save.ts";
import { experimentOf } from "./contest.ts";
import { type Experiment, type Finding, fullPlan, type Lab, quickPlan } from "./experiment.ts";
import { describeMachine } from "./machine.ts";
import { makePackage } from "./mooring.ts";
import { backupAndRestore } from "./probe/backup.ts";
import { consoleInBrowser } from "./probe/console.ts";
import { frontSave } from "./probe/front-save.ts";
import { idleMemory } from "./probe/memory.ts";
import { siteFollow } from "./probe/mounts.ts";
import { startTime } from "./probe/start.ts";
import { watch } from "./probe/watch.ts";
import { installHint, pathOfProgram } from "./program.ts";
import { findingMarkdown, list, resultsMarkdown, targetMarkdown, withResults } from "./report.ts";
import { createBenchStage } from "./stage.ts";

const performanceDocument = new URL("../docs/performance.md", import.meta.url);

/** All experiments, in the order of the report. */
const experiments: readonly Experiment[] = [
  ...[restPublic, restSetting, grpcPublic, grpcSetting, connectPublic].map(experimentOf),
  gateway,
  ...[saveMany, saveOne].map(experimentOf),
  watch,
  startTime,
  idleMemory,
  ...[frontRequest, frontDownload, frontUpload].map(experimentOf),
  frontSave,
  siteFollow,
  backupAndRestore,
  consoleInBrowser,
];

const usage = `Usage: npm run bench -- [options] [NAME…]

Measures Mooring beside its yardsticks: servers on core 0, load generators on core 1.

  NAME             only this experiment, as --only
  --quick          short rounds, to see that everything works
  --only NAME      only this experiment; may be repeated or a list with commas
  --json FILE      writes the results as JSON
  --write-docs     puts the results into docs/performance.md
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

await runProgram("bench", main);

/**
 * Runs the bench. @returns the exit code: 1 when an experiment failed; a missed target is not a
 * failure.
 */
async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...commonOptions,
      json: { type: "string" },
      "write-docs": { type: "boolean", default: false },
      server: { type: "string" },
    },
  });
  if (values.help) return print(usage);
  if (values.list) return print(listText(experiments));
  const chosen = chosenOf(
    experiments,
    [...(values.only ?? []), ...positionals],
    ["experiment", "bench"],
  );
  if (pathOfProgram("taskset") === undefined) throw new Error(installHint("taskset"));
  const stage = await createBenchStage();
  try {
    const server = values.server === undefined ? await makePackage(stage) : resolve(values.server);
    const lab = { stage, plan: values.quick ? quickPlan : fullPlan, server };
    const head = describeMachine(["npm run bench --", ...args].join(" "));
    print(`${list(head)}\n\n`);
    const outcome = await runAll(chosen, lab);
    const { findings, skipped, failed } = outcome;
    print(`${targetMarkdown(findings)}\n`);
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify({ head, ...outcome }, null, 2)}\n`);
    if (values["write-docs"]) {
      const results = resultsMarkdown(head, findings, [...skipped, ...failed]);
      const document = readFileSync(performanceDocument, "utf8");
      writeFileSync(performanceDocument, withResults(document, results));
    }
    return failed.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

async function runAll(chosen: readonly Experiment[], lab: Lab): Promise<Outcome> {
  const outcome: Outcome = { findings: [], skipped: [], failed: [] };
  for (const { name, title, needs, measure } of chosen) {
    const lacking = needs.find((program) => pathOfProgram(program) === undefined);
    try {
      if (lacking !== undefined) {
        outcome.skipped.push(`${name}: ${installHint(lacking)}`);
        print(`skipped ${outcome.skipped.at(-1)}\n\n`);
        continue;
      }
      const finding = { name, title, ...(await measure(lab)) };
      outcome.findings.push(finding);
      print(`${findingMarkdown(finding)}\n\n`);
    } catch (error) {
      outcome.failed.push(`${name}: ${messageOf(error)}`);
      print(`FAILED ${outcome.failed.at(-1)}\n\n`);
    }
    await lab.stage.close();
  }
  return outcome;
}
