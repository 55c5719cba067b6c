// Mutates the code of critical rules by Stryker, with the tests that reach each mutant, and lists the
// mutants that no test detects: gaps in the tests, or changes without an effect.
//
//   npm run test:mutate -- RULE … [FILE[:FROM-TO] …]
//
// The rules and their tests are in tools/mutation/rules.ts; with files, or lines of files, only those
// of the rules are mutated. Code that runs when a module loads is not. Exits with 1 if less than 80 %
// of the mutants of a rule are detected. Stryker is installed on first use.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { installLocked } from "./install.ts";
import { type Rule, rules } from "./mutation/rules.ts";

const folder = join(import.meta.dirname, "mutation");
const program = join(folder, "node_modules/@stryker-mutator/core/bin/stryker.js");

const names = process.argv.slice(2).filter((name) => name in rules);
const files = process.argv.slice(2).filter((name) => name.startsWith("src/"));
const unknown = process.argv.slice(2).filter((name) => ![...names, ...files].includes(name));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `give names of rules, and optionally files in src/; the rules are ${Object.keys(rules).join(", ")}\n`,
  );
  process.exit(2);
}

installLocked(folder);
let isGood = true;
for (const name of names) isGood = mutate(rules[name] as Rule) && isGood;
process.exitCode = isGood ? 0 : 1;

/** @returns whether enough mutants are detected. */
function mutate(rule: Rule): boolean {
  const mutated = files.length === 0 ? rule.files.flatMap(filesOf) : files;
  const args = ["run", join(folder, "stryker.json"), "--mutate", mutated.join(",")];
  const env = { ...process.env, MUTATION_TESTS: rule.tests.join("\n") };
  return spawnSync(process.execPath, [program, ...args], { env, stdio: "inherit" }).status === 0;
}

/** Files of a glob: Stryker divides its list of globs at each comma, also of `{a,b}`. */
function filesOf(glob: string): readonly string[] {
  const found = globSync(glob, { cwd: join(import.meta.dirname, "..") });
  if (found.length === 0) throw new Error(`tools/mutation/rules.ts: no file is named ${glob}`);
  return found;
}
