// Changes the code that holds the rules of tools/mutation/rules.ts, one mutant at a time and in a copy
// of the tree, and runs the tests of the rule: one that no test notices is a gap between the tests.
//
//   npm run test:mutate -- [RULE …] [--file=PART] [--most=N] [--minutes=N]
//
// Of a rule with more than N mutants (60; 0: no bound) every second, third, … is taken. Ends with 1 where a folder has less than 90 % of its mutants killed, or time was over.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { killTree } from "../bench/proc.ts";
import { mutantsOf } from "./mutation/mutants.ts";
import { type Rule, rules } from "./mutation/rules.ts";

const THRESHOLD = 0.9;
/** Longest time of a stage of tests without a mutant, in milliseconds. */
const STAGE_LIMIT = 600_000;
/** A mutant counts as killed where a stage takes so many times as long as without it, and longer than… */
const SLOWER = 10;
/** …this, in milliseconds. */
const SHORTEST_LIMIT = 60_000;

const ROOT = join(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    file: { type: "string", default: "" },
    most: { type: "string", default: "60" },
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
async function mutateRule(name: string, { files: globs, tests }: Rule): Promise<boolean> {
  const sources = globSync([...globs], { cwd: tree }).sort();
  const stages = tests.map((stage) => globSync([...stage], { cwd: tree }));
  if (sources.length === 0 || stages.some((stage) => stage.length === 0))
    throw new Error(`rule ${name}: no file fits`);
  say(`\n== ${name}`);
  const files = sources
    .filter((source) => source.includes(values.file))
    .map((path) => {
      const original = readFileSync(join(tree, path), "utf8");
      return { path, original, mutants: mutantsOf(path, original) };
    });
  const all = files.flatMap(({ mutants }) => mutants);
  const most = Number(values.most) || all.length;
  const every = Math.max(1, all.length / most);
  const taken = new Set(Array.from({ length: most }, (_, at) => all[Math.floor(at * every)]));
  for (const { path, original, mutants } of files) {
    const file = join(tree, path);
    const limits = stages.map(() => STAGE_LIMIT);
    const isNoticed = async (text: string): Promise<boolean> => {
      writeFileSync(file, text);
      for (const [at, stage] of stages.entries()) {
        const begun = performance.now();
        if (!(await passes(stage, limits[at] ?? STAGE_LIMIT))) return true;
        if (text === original)
          limits[at] = Math.max(SHORTEST_LIMIT, SLOWER * (performance.now() - begun));
      }
      return false;
    };
    const some = mutants.filter((mutant) => taken.has(mutant));
    if (some.length === 0) continue;
    if (await isNoticed(original)) throw new Error(`the tests of ${name} fail without a mutant`);
    const folder = dirname(path);
    const { killed, all: before } = score.get(folder) ?? { killed: 0, all: 0 };
    let [tried, survived] = [0, 0];
    for (const mutant of some) {
      if (performance.now() > end) break;
      tried += 1;
      if (await isNoticed(mutant.text)) continue;
      survived += 1;
      say(`  survived: ${path}:${mutant.line}  ${mutant.change}`);
    }
    score.set(folder, { killed: killed + tried - survived, all: before + tried });
    say(`${path}: ${tried - survived} killed, ${survived} survived, of ${mutants.length} in all`);
    if (tried < some.length) return false;
    // What has killed them was the change, and not a test that fails now and then.
    if (await isNoticed(original)) throw new Error(`the tests of ${name} fail without a mutant`);
  }
  return true;
}

/** Runs test files in processes of their own: nothing that one mutant leaves reaches the next. */
async function passes(files: readonly string[], limit: number): Promise<boolean> {
  const args = ["run", "--bail=1", "--reporter=dot", ...files];
  const child = spawn("vitest", args, { cwd: tree, stdio: "ignore" });
  const stop = (): void => {
    if (child.pid !== undefined) killTree(child.pid);
  };
  process.once("exit", stop);
  const timer = setTimeout(stop, limit);
  const [status] = await once(child, "close");
  clearTimeout(timer);
  process.off("exit", stop);
  return status === 0;
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
