// Runs mutation tests for the code of tools/mutation/rules.ts, one mutant at a time in a copy of
// the tree, with the tests that reach it. A mutant without a failing test is a gap in the tests.
//
//   npm run test:mutate -- [RULE …] [--file=PART] [--most=N] [--seconds=N] [--quick]
//
// Of more than N mutants (0: no bound) every second, third, … is used. A mutant runs with the tests
// that reach it, the most likely ones first, for at most N seconds (0: all of them). --quick skips
// mutants that need their own process: those of code that runs when a module loads. Exits with 1 if
// less than 90 % of the mutants of a rule are killed, or if tools/mutation/survivors.yaml is wrong: a
// survivor without an entry, or an entry that is killed or matches no mutant.
import { globSync, readFileSync, rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { type Rule, rules } from "./mutation/rules.ts";
import { type FileMutant, type Outcome, runRules } from "./mutation/run.ts";
import { copyTree } from "./mutation/session.ts";

const THRESHOLD = 0.9;

/** Mutant that may survive, with the reason. */
type Survivor = Readonly<Record<"code" | "change" | "reason", string>>;

const survivors: Readonly<Record<string, readonly Survivor[]>> = parse(
  readFileSync(new URL("mutation/survivors.yaml", import.meta.url), "utf8"),
);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    file: { type: "string", default: "" },
    most: { type: "string", default: "0" },
    seconds: { type: "string", default: "10" },
    quick: { type: "boolean", default: false },
  },
});
const names = positionals.length === 0 ? Object.keys(rules) : positionals;
const unknown = names.filter((name) => !(name in rules));
if (unknown.length > 0)
  throw new Error(`no rule ${unknown.join(", ")}; there are ${Object.keys(rules).join(", ")}`);

const tree = copyTree();
process.once("exit", () => rmSync(tree, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const chosen = names.map((name) => rules[name] as Rule);
const { file, quick } = values;
const options = { most: Number(values.most), seconds: Number(values.seconds), file, quick, say };
const outcome = await runRules(tree, chosen, options);
const problems = [...problemsOf(outcome)];
for (const problem of problems) say(problem);
say("\nrule: mutants, run, killed, listed as survivors, share");
let isGood = problems.length === 0;
for (const [at, name] of names.entries()) isGood = report(name, chosen[at] as Rule) && isGood;
process.exit(isGood ? 0 : 1);

/** @returns whether enough mutants of the rule are killed. */
function report(name: string, { files }: Rule): boolean {
  const paths = new Set(globSync([...files], { cwd: tree }));
  const run = outcome.run.filter(({ path }) => paths.has(path));
  const killed = run.filter((mutant) => outcome.killed.has(mutant)).length;
  const listed = run.filter((mutant) => reasonOf(mutant) !== undefined).length;
  const all = [...outcome.counts].map(([path, count]) => (paths.has(path) ? count : 0));
  const count = all.reduce((sum, one) => sum + one, 0);
  const share = run.length === 0 ? 1 : killed / run.length;
  const figures = [count, run.length, killed, listed, `${Math.floor(share * 100)} %`];
  say(`${name}: ${figures.join(", ")}`);
  return share >= THRESHOLD;
}

function* problemsOf({ run, counts, killed, unreached }: Outcome): Generator<string> {
  for (const mutant of run) {
    const place = `${mutant.path}:${mutant.line}  ${mutant.change}`;
    const test = killed.get(mutant);
    const reason = reasonOf(mutant);
    const reach = unreached.has(mutant) ? " (no test reaches it)" : "";
    if (test === undefined && reason === undefined) yield `survived: ${place}${reach}`;
    if (test !== undefined && reason !== undefined)
      yield `listed as a survivor, but killed by "${test}": ${place}`;
  }
  if (run.length < [...counts.values()].reduce((sum, count) => sum + count, 0)) return;
  for (const path of counts.keys())
    for (const survivor of survivors[path] ?? [])
      if (!run.some((mutant) => mutant.path === path && isListed(mutant, survivor)))
        yield `listed as a survivor, but no such mutant: ${path}  ${survivor.change}  in: ${survivor.code}`;
}

function reasonOf(mutant: FileMutant): string | undefined {
  return survivors[mutant.path]?.find((one) => isListed(mutant, one))?.reason;
}

function isListed({ code, before, change }: FileMutant, survivor: Survivor): boolean {
  return survivor.change === change && [code, `${before}\n${code}`].includes(survivor.code);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
