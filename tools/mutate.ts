// Changes the code that holds the rules of tools/mutation/rules.ts, one mutant at a time and in a copy
// of the tree, and runs the tests of the rule: one that no test notices is a gap between the tests.
//
//   npm run test:mutate -- [RULE …] [--file=PART] [--minutes=N]
//
// Ends with 1 where a folder has less than 90 % of its mutants killed, or time was over.
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { killTree } from "../bench/proc.ts";
import { mutantsOf } from "./mutation/mutants.ts";
import { type Rule, rules } from "./mutation/rules.ts";
import type { RunRequest, RunResult } from "./mutation/runner.ts";

const THRESHOLD = 0.9;
/** For the tests of one mutant, in milliseconds: one that takes longer is killed. */
const MUTANT_LIMIT = 120_000;
const TIMED_OUT = "the time limit";

const ROOT = join(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    file: { type: "string", default: "" },
    minutes: { type: "string", default: "240" },
  },
});
const names = positionals.length === 0 ? Object.keys(rules) : positionals;
const unknown = names.filter((name) => !(name in rules));
if (unknown.length > 0)
  throw new Error(`no rule ${unknown.join(", ")}; there are ${Object.keys(rules).join(", ")}`);
const end = performance.now() + Number(values.minutes) * 60_000;

const tree = copyTree();
process.once("exit", () => rmSync(tree, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const score = new Map<string, { killed: number; all: number }>();
let isComplete = true;
for (const name of names) isComplete = (await mutateRule(name, rules[name] as Rule)) && isComplete;

let isGood = isComplete;
say("");
for (const [folder, { killed, all }] of score) {
  const share = all === 0 ? 1 : killed / all;
  if (share < THRESHOLD) isGood = false;
  say(`${folder}: ${killed} of ${all} killed (${Math.floor(share * 100)} %)`);
}
if (!isComplete) say(`not at its end after ${values.minutes} minutes`);
process.exit(isGood ? 0 : 1);

/** @returns whether there was time for all of it. */
async function mutateRule(name: string, { files, tests }: Rule): Promise<boolean> {
  const sources = globSync([...files], { cwd: tree }).sort();
  const stages = tests.map((globs) =>
    globSync([...globs], { cwd: tree }).map((path) => join(tree, path)),
  );
  if (sources.length === 0 || stages.some((stage) => stage.length === 0))
    throw new Error(`rule ${name}: no file fits`);
  say(`\n== ${name}`);
  let runner: Runner | undefined;
  for (const path of sources.filter((source) => source.includes(values.file))) {
    const file = join(tree, path);
    const original = readFileSync(file, "utf8");
    const run = async (text: string): Promise<string | undefined> => {
      runner ??= await startRunner();
      const outcome = await runner.run({ file, text, original, stages });
      if (outcome === TIMED_OUT) runner = undefined;
      return outcome;
    };
    const check = async (): Promise<void> => {
      const broken = await run(original);
      if (broken !== undefined) throw new Error(`the tests fail without a mutant: ${broken}`);
    };
    await check();
    const mutants = mutantsOf(path, original);
    let survived = 0;
    for (const mutant of mutants) {
      if (performance.now() > end) {
        runner?.end();
        return false;
      }
      if ((await run(mutant.text)) !== undefined) continue;
      survived += 1;
      say(`  survived: ${path}:${mutant.line}  ${mutant.change}`);
    }
    // What has killed them was the change, and not something that stays broken.
    await check();
    const folder = dirname(path);
    const { killed, all } = score.get(folder) ?? { killed: 0, all: 0 };
    const died = mutants.length - survived;
    score.set(folder, { killed: killed + died, all: all + mutants.length });
    say(`${path}: ${died} killed, ${survived} survived`);
  }
  runner?.end();
  return true;
}

interface Runner {
  /** @returns what has noticed the change, or undefined. After a time-out the runner has ended. */
  run(request: RunRequest): Promise<string | undefined>;
  end(): void;
}

async function startRunner(): Promise<Runner> {
  const child: ChildProcess = fork(join(tree, "tools/mutation/runner.ts"), {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const stop = (): void => {
    if (child.pid !== undefined && child.exitCode === null) killTree(child.pid);
  };
  process.once("exit", stop);
  const end = (): void => {
    process.off("exit", stop);
    stop();
  };
  const ended = once(child, "exit").then(() => {
    throw new Error("the runner of the tests has ended");
  });
  ended.catch(() => undefined);
  const reply = (): Promise<[RunResult]> =>
    Promise.race([once(child, "message") as Promise<[RunResult]>, ended]);
  await reply();
  return {
    run: async (request) => {
      const answered = reply();
      child.send(request);
      const limit = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => limit.resolve(undefined), MUTANT_LIMIT);
      const result = await Promise.race([answered, limit.promise]);
      clearTimeout(timer);
      if (result !== undefined) return result[0].failed;
      end();
      return TIMED_OUT;
    },
    end,
  };
}

/** Copies what git knows of, and what is new; packages are the same. */
function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  for (const path of new Set(listed.split("\0"))) {
    if (path === "" || !globSync(path, { cwd: ROOT }).length) continue;
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(folder, path));
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
