import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { instrument, mutantsOf, type Numbered } from "./mutants.ts";
import type { Reach } from "./plan.ts";
import type { Rule } from "./rules.ts";
import { runSession } from "./session.ts";

export interface FileMutant extends Numbered {
  readonly path: string;
  /** Text of the mutated line, trimmed. */
  readonly code: string;
  /** Text of the line before, trimmed. */
  readonly before: string;
}

export interface Outcome {
  readonly run: readonly FileMutant[];
  /** Number of mutants in the files, including those that were not run. */
  readonly counts: ReadonlyMap<string, number>;
  /** Killed mutants, with the test that failed. */
  readonly killed: ReadonlyMap<FileMutant, string>;
  /** Mutants that no test reaches. */
  readonly unreached: ReadonlySet<FileMutant>;
}

export interface Options {
  /** Maximum number of mutants; 0: all. */
  readonly most: number;
  /** Text that the paths of the mutated files contain. */
  readonly file: string;
  /** Maximum duration of the tests of one mutant, in seconds; 0: unlimited. */
  readonly seconds: number;
  /** Whether to skip mutants that need a process of their own. */
  readonly quick: boolean;
  readonly say: (text: string) => void;
}

/** The most likely tests run with all mutants before others do. */
const FIRST_SECONDS = 0.2;

/** Runs the tests of rules with each mutant of their files, in a copy of the tree. */
export async function runRules(
  tree: string,
  rules: readonly Rule[],
  options: Options,
): Promise<Outcome> {
  const paths = new Set(rules.flatMap(({ files }) => globSync([...files], { cwd: tree }).sort()));
  const { run, counts } = writeMutants(tree, [...paths], options);
  const files = new Set(rules.flatMap(({ tests }) => globSync([...tests], { cwd: tree })));
  if (run.length === 0 || files.size === 0) throw new Error("no file matches");
  const hunt = new Hunt(tree, run, [...files].sort(), options.say);
  await hunt.cover();
  while (await hunt.mutate(FIRST_SECONDS));
  while (await hunt.mutate(options.seconds || Number.POSITIVE_INFINITY));
  const { killed } = hunt;
  if (!options.quick) await hunt.mutateAlone();
  const notRun = new Set(options.quick ? hunt.openAlone() : []);
  const all = run.filter((mutant) => !notRun.has(mutant));
  return { run: all, counts, killed, unreached: hunt.unreached() };
}

/** Writes the mutants into the files of the copy. */
function writeMutants(tree: string, paths: readonly string[], { most, file }: Options) {
  const all: FileMutant[] = [];
  const sources = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const path of paths.filter((one) => one.includes(file))) {
    const source = readFileSync(join(tree, path), "utf8");
    const lines = source.split("\n");
    const mutants = mutantsOf(path, source);
    sources.set(path, source);
    counts.set(path, mutants.length);
    for (const mutant of mutants) {
      const [before = "", code = ""] = ["", ...lines].slice(mutant.line - 1);
      all.push({
        ...mutant,
        path,
        code: code.trim(),
        before: before.trim(),
        id: all.length + 1,
      });
    }
  }
  const size = most === 0 ? all.length : Math.min(most, all.length);
  const run = Array.from(
    { length: size },
    (_, at) => all[Math.floor((at * all.length) / size)] as FileMutant,
  );
  for (const [path, source] of sources) {
    const mutants = run.filter((mutant) => mutant.path === path);
    writeFileSync(join(tree, path), instrument(source, mutants));
  }
  return { run, counts };
}

/** A test that passes on the unchanged code. */
interface Test extends Reach {
  readonly file: string;
  /** Mutants with which the test has run. */
  readonly tried: Set<number>;
}

class Hunt {
  readonly killed = new Map<FileMutant, string>();
  readonly #tree: string;
  readonly #mutants: ReadonlyMap<number, FileMutant>;
  readonly #files: readonly string[];
  readonly #say: (text: string) => void;
  readonly #tests = new Map<string, Test>();
  readonly #reached = new Set<number>();
  /** Mutants that take effect only when a module loads, or in a new process. */
  readonly #alone = new Set<number>();

  constructor(
    tree: string,
    run: readonly FileMutant[],
    files: readonly string[],
    say: (text: string) => void,
  ) {
    this.#tree = tree;
    this.#mutants = new Map(run.map((mutant) => [mutant.id, mutant]));
    this.#files = files;
    this.#say = say;
  }

  /** Records which tests reach which mutants. */
  async cover(): Promise<void> {
    const files = this.#files;
    const plan = { phase: "cover", files, tests: {}, mutant: 0 } as const;
    const { lines, errors } = await runSession(this.#tree, plan);
    for (const line of lines) {
      if (line.type === "unfit") this.#say(`  fails without a mutant: ${line.name}`);
      if (line.type === "outside") for (const id of line.mutants) this.#alone.add(id);
      if (line.type === "covered") this.#tests.set(line.test, { ...line, tried: new Set() });
      if (line.type === "outside" || line.type === "covered")
        for (const id of line.mutants) this.#reached.add(id);
    }
    if (this.#tests.size === 0) throw new Error(`no test passes without a mutant\n${errors}`);
  }

  /**
   * Runs tests with the mutants that they reach, in one process.
   *
   * @param seconds maximum duration of the tests of a mutant, including earlier runs.
   * @returns whether tests are left.
   */
  async mutate(seconds: number): Promise<boolean> {
    const chosen = this.#choose(seconds);
    const tests: Record<string, Reach> = {};
    const times = new Map<string, number>();
    for (const [id, mutants] of chosen) {
      const { file, milliseconds, passes } = this.#tests.get(id) as Test;
      tests[id] = { mutants, milliseconds, passes };
      times.set(file, (times.get(file) ?? 0) + milliseconds);
    }
    const timeOf = (file: string): number => times.get(join(this.#tree, file)) ?? 0;
    const files = this.#files
      .filter((file) => times.has(join(this.#tree, file)))
      .sort((one, other) => timeOf(one) - timeOf(other));
    if (files.length === 0) return false;
    const plan = { phase: "mutate", files, tests, mutant: 0 } as const;
    const { lines, hasHung } = await runSession(this.#tree, plan);
    for (const line of lines) {
      if (line.type === "begun") this.#tests.get(line.test)?.tried.add(line.mutant);
      if (line.type === "killed") this.#kill(line.mutant, line.name);
      if (line.type === "unfit" || line.type === "spoiled") this.#leaveOut(line.test);
    }
    const last = lines.findLast((line) => line.type === "begun");
    if (hasHung && last === undefined) throw new Error("the tests hang without a mutant");
    if (hasHung && last !== undefined) this.#kill(last.mutant, "does not end");
    return lines.length > 0;
  }

  /** Tests of each remaining mutant by likelihood: those named like its file, then the fastest. */
  #choose(seconds: number): Map<string, number[]> {
    const chosen = new Map<string, number[]>();
    const byTime = [...this.#tests].sort(([, a], [, b]) => a.milliseconds - b.milliseconds);
    const byMutant = new Map<number, [id: string, test: Test][]>();
    for (const entry of byTime)
      for (const mutant of entry[1].mutants)
        byMutant.set(mutant, [...(byMutant.get(mutant) ?? []), entry]);
    for (const [mutant, tests] of byMutant) {
      if (!this.#isOpen(mutant)) continue;
      const name = basename(this.#mutants.get(mutant)?.path ?? "", ".ts");
      const isNamed = (file: string): boolean => basename(file).startsWith(`${name}.`);
      const likely = [
        ...tests.filter(([, { file }]) => isNamed(file)),
        ...tests.filter(([, { file }]) => !isNamed(file)),
      ];
      let left = seconds * 1_000;
      for (const [id, { tried, milliseconds }] of likely) {
        if (left <= 0) break;
        left -= milliseconds;
        if (!tried.has(mutant)) chosen.set(id, [...(chosen.get(id) ?? []), mutant]);
      }
    }
    return chosen;
  }

  /** Runs the tests once for each mutant that takes effect only when a module or process starts. */
  async mutateAlone(): Promise<void> {
    const open = this.openAlone();
    if (open.length === 0) return;
    this.#say(`  ${open.length} mutants in a process of their own`);
    const passes = async (mutant: number): Promise<boolean> => {
      const plan = { phase: "load", files: this.#files, tests: {}, mutant } as const;
      return (await runSession(this.#tree, plan)).hasPassed;
    };
    if (!(await passes(0))) throw new Error("the tests fail without a mutant");
    for (const { id } of open) if (!(await passes(id))) this.#kill(id, "in a process of its own");
  }

  /** Remaining mutants that need a process of their own. */
  openAlone(): FileMutant[] {
    return [...this.#mutants.values()].filter(({ id }) => this.#alone.has(id) && this.#isOpen(id));
  }

  unreached(): Set<FileMutant> {
    return new Set([...this.#mutants.values()].filter(({ id }) => !this.#reached.has(id)));
  }

  #isOpen(id: number): boolean {
    const mutant = this.#mutants.get(id);
    return mutant !== undefined && !this.killed.has(mutant);
  }

  #kill(id: number, by: string): void {
    const mutant = this.#mutants.get(id);
    if (mutant !== undefined) this.killed.set(mutant, by);
  }

  /** Mutants of a test that cannot run twice in one process: other tests or a new process run them. */
  #leaveOut(id: string): void {
    for (const mutant of this.#tests.get(id)?.mutants ?? []) this.#alone.add(mutant);
    this.#tests.delete(id);
  }
}
