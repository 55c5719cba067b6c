import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { resultsMarkdown, withResults } from "./document.ts";
import { experiments } from "./experiment.ts";
import { type Experiment, type Finding, NotMeasurable } from "./finding.ts";
import { fullPlan, type Lab, quickPlan } from "./lab.ts";
import { describeMachine, type Head } from "./machine.ts";
import { type Options, parseOptions, usage } from "./option.ts";
import { makePackage, SOURCE } from "./package.ts";
import { profile } from "./profile.ts";
import { installHint, missingPrograms, type Program } from "./program.ts";
import { findingText, headText, summaryText } from "./report.ts";
import {
  cleanEnvironment,
  createStage,
  moveToLoadCore,
  type Stage,
  stopOnSignals,
} from "./stage.ts";

const performanceDocument = new URL("../docs/performance.md", import.meta.url);

/** What a run brought. */
interface Outcome {
  readonly findings: Finding[];
  /** Why something was left out. */
  readonly skipped: string[];
  /** Why something could not be measured although it should. */
  readonly failed: string[];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Returns the exit code: 1 when something could not be measured; a missed target is a result. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) return print(usage);
  if (options.list) return print(experiments.map(listed).join(""));
  const list = chosen(options.profile === undefined ? options.only : [options.profile]);
  const { PATH = "" } = process.env;
  const missing = missingPrograms(PATH);
  if (missing.includes("taskset")) throw new Error(installHint("taskset"));
  const stage = createStage(cleanEnvironment());
  stopOnSignals(stage);
  try {
    await moveToLoadCore(stage);
    const lab = await labOf(options, stage, missing);
    if (options.profile !== undefined) return await runProfile(list, lab);
    const head = await describeMachine(stage, missing, ["npm run bench --", ...args].join(" "));
    print(`${headText(head)}\n`);
    const outcome = await runAll(list, lab, missing);
    print(summaryText(outcome.findings));
    keepResults(options, head, outcome);
    return outcome.failed.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

async function labOf(options: Options, stage: Stage, missing: readonly Program[]): Promise<Lab> {
  // A profile names functions by their files.
  const server = options.server ?? (options.profile === undefined ? undefined : SOURCE);
  return {
    stage,
    plan: options.quick ? quickPlan : fullPlan,
    server: server === undefined ? await makePackage(stage) : resolve(server),
    nodeFlags: [],
    quick: options.quick,
    // What was chosen by name is measured whole.
    everything: !options.quick || options.only.length > 0,
    etcd: !missing.includes("etcd"),
  };
}

async function runAll(
  list: readonly Experiment[],
  lab: Lab,
  missing: readonly Program[],
): Promise<Outcome> {
  const outcome: Outcome = { findings: [], skipped: [], failed: [] };
  if (missing.includes("etcd")) skip(outcome, `comparisons with etcd: ${installHint("etcd")}`);
  for (const experiment of list) {
    const lacking = experiment.needs.find((program) => missing.includes(program));
    if (lacking !== undefined) skip(outcome, `${experiment.name}: ${installHint(lacking)}`);
    else if (experiment.long === undefined || lab.everything)
      await runOne(experiment, lab, outcome);
    else skip(outcome, `${experiment.name}: not part of a quick run`);
    await lab.stage.close();
  }
  return outcome;
}

async function runOne(experiment: Experiment, lab: Lab, outcome: Outcome): Promise<void> {
  try {
    const finding = await experiment.measure(lab);
    outcome.findings.push(finding);
    print(`${findingText(finding)}\n`);
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
  if (!options.writeDocs) return;
  const left = [...outcome.skipped, ...outcome.failed];
  const results = resultsMarkdown(head, outcome.findings, left);
  const document = readFileSync(performanceDocument, "utf8");
  writeFileSync(performanceDocument, withResults(document, results));
}

async function runProfile(list: readonly Experiment[], lab: Lab): Promise<number> {
  for (const experiment of list) print(await profile(experiment, lab));
  return 0;
}

/** @throws Error that names an unknown experiment. */
function chosen(names: readonly string[]): readonly Experiment[] {
  const unknown = names.find((name) => !experiments.some((each) => each.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no experiment "${unknown}": see npm run bench -- --list`);
  return names.length === 0 ? experiments : experiments.filter(({ name }) => names.includes(name));
}

function listed({ name, title }: Experiment): string {
  return `${name.padEnd(16)} ${title}\n`;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
