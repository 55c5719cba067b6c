import { appendFileSync, readFileSync } from "node:fs";
import {
  type RunnerTestCase,
  TestRunner,
  type TestRunnerConfig,
  type TestTryOptions,
} from "vitest";
import { type Line, PLAN, type Plan } from "./plan.ts";

/** Limit of the time and switches of a test with a mutant, as a multiple of those without it… */
const SLOWER = 8;
/** …and the minimum of this limit. */
const LEAST_MILLISECONDS = 5_000;
const LEAST_PASSES = 100_000;

/** The real timers: tests may replace the global ones. */
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

const plan: Plan = JSON.parse(readFileSync(process.env[PLAN] ?? "", "utf8"));

/** The mutant that is on; 0: none. */
let active = 0;
/** Number of passed switches. */
let passes = 0;
let maxPasses = Number.POSITIVE_INFINITY;
/** Reached mutants: inside the running test, and otherwise. */
let reached = new Set<number>();
const killed = new Set<number>();
/** Whether a test failed after a mutant was off, so that others may fail for the same reason. */
let isSpoiled = false;

function isMutant(id: number): boolean {
  passes += 1;
  if (active === 0) reached.add(id);
  else if (passes > maxPasses) throw new Error("a mutant that does not end");
  return id === active;
}
Object.assign(globalThis, { isMutant });
if (plan.phase === "load") turnOn(plan.mutant);

function turnOn(mutant: number): void {
  active = mutant;
  process.env["MOORING_MUTANT"] = String(mutant);
}

function write(line: Line): void {
  appendFileSync(plan.output, `${JSON.stringify(line)}\n`);
}

/** Course of a test through its mutants, one repetition each. */
interface Course {
  readonly left: number[];
  /**
   * Mutant of the last failed repetition; the next one shows whether the test passes without it.
   */
  suspect: { readonly mutant: number; readonly by: "failure" | "time" } | undefined;
  milliseconds: number;
  isFit: boolean;
  begun: number;
}

/** Runs tests by the plan, with the mutants of instrumented modules. */
export default class MutationRunner extends TestRunner {
  readonly #courses = new WeakMap<RunnerTestCase, Course>();
  #isLate = false;

  constructor(config: TestRunnerConfig) {
    super(config);
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    if (plan.phase === "load") return;
    const { mutants = [], milliseconds = 0, passes: most = 0 } = plan.tests[test.id] ?? {};
    const left = mutants.filter((mutant) => !killed.has(mutant));
    this.#courses.set(test, { left, suspect: undefined, milliseconds, isFit: true, begun: 0 });
    maxPasses = Math.max(LEAST_PASSES, SLOWER * most);
    // Tests on a running service depend on earlier ones.
    if (plan.phase === "mutate" && left.length === 0 && !test.file.filepath.includes("/wire/"))
      test.mode = "skip";
    // First twice without a mutant, because a test that can't be repeated is no evidence. Then with
    // each mutant, and after a failure once more without one. Remaining repetitions do nothing.
    test.repeats = left.length === 0 ? 0 : 1 + 2 * left.length;
  }

  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options);
    const course = this.#courses.get(test);
    if (course === undefined) return;
    passes = 0;
    course.begun = performance.now();
    if (plan.phase === "cover") {
      if (reached.size > 0) write({ type: "outside", mutants: [...reached] });
      reached = new Set();
      return;
    }
    const { suspect, left } = course;
    if (options.repeats < 2 || suspect !== undefined) return;
    const mutant = course.isFit ? left.shift() : undefined;
    if (mutant === undefined) throw new Error("nothing is left");
    write({ type: "begun", mutant, test: test.id });
    turnOn(mutant);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (active === 0 || plan.phase === "load") return run();
    const limit = Math.max(
      LEAST_MILLISECONDS,
      SLOWER * (this.#courses.get(test)?.milliseconds ?? 0),
    );
    this.#isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const end = new Promise<never>((_, reject) => {
      timer = startTimer(() => {
        this.#isLate = true;
        reject(new Error("a mutant that takes too long"));
      }, limit);
    });
    try {
      await Promise.race([run(), end]);
    } finally {
      stopTimer(timer);
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const course = this.#courses.get(test);
    const result = test.result;
    if (course === undefined || result === undefined || result.state === "skip") return;
    const hasFailed = result.state === "fail";
    result.errors = [];
    const mutant = active;
    turnOn(0);
    if (plan.phase === "cover") this.#afterCover(test, hasFailed);
    else if (options.repeats < 2) {
      if (hasFailed && course.isFit) this.#leaveOut(test, course);
    } else if (mutant !== 0) {
      if (hasFailed) course.suspect = { mutant, by: this.#isLate ? "time" : "failure" };
    } else if (course.suspect !== undefined) {
      const { suspect } = course;
      course.suspect = undefined;
      if (hasFailed) {
        isSpoiled = true;
        course.isFit = false;
        write({ type: "spoiled", mutant: suspect.mutant, test: test.id });
      } else {
        killed.add(suspect.mutant);
        write({ type: "killed", ...suspect, test: test.id, name: test.fullName });
      }
    }
    result.state = "pass";
  }

  #leaveOut(test: RunnerTestCase, course: Course): void {
    course.isFit = false;
    // vitest does not let a worker exit.
    if (isSpoiled) process.kill(process.pid, "SIGKILL");
    if (course.left.length > 0) write({ type: "unfit", test: test.id, name: test.fullName });
  }

  #afterCover(test: RunnerTestCase, hasFailed: boolean): void {
    const mutants = [...reached];
    reached = new Set();
    const milliseconds = Math.round(performance.now() - (this.#courses.get(test)?.begun ?? 0));
    if (hasFailed) write({ type: "unfit", test: test.id, name: test.fullName });
    else
      write({
        type: "covered",
        test: test.id,
        file: test.file.filepath,
        mutants,
        milliseconds,
        passes,
      });
  }
}
