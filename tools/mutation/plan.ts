/** Plan of the test runner, as JSON in the file named by the environment variable PLAN. */
export interface Plan {
  /**
   * `cover`: each test runs twice, and reports the mutants that it reaches. `mutate`: each test
   * runs once for each mutant that it reaches. `load`: all tests run with one mutant, which is
   * enabled before modules load.
   */
  readonly phase: "cover" | "mutate" | "load";
  /** Test files, in the order of their runs. */
  readonly files: readonly string[];
  /** File to which the runner appends lines of JSON. */
  readonly output: string;
  /** `mutate`: the tests to run, by the id that vitest gives them. */
  readonly tests: Readonly<Record<string, Reach>>;
  /** `load`: the mutant. */
  readonly mutant: number;
}

/** Mutants reached by a test, and its duration. */
export interface Reach {
  readonly mutants: readonly number[];
  readonly milliseconds: number;
  /** Number of switches that it passes. */
  readonly passes: number;
}

export type Line =
  | ({ readonly type: "covered"; readonly test: string; readonly file: string } & Reach)
  /** Test that fails on the unchanged code, in the first or second run; its failures are ignored. */
  | { readonly type: "unfit"; readonly test: string; readonly name: string }
  /** Mutants reached outside of tests, such as in modules and in beforeAll. */
  | { readonly type: "outside"; readonly mutants: readonly number[] }
  | { readonly type: "begun"; readonly mutant: number; readonly test: string }
  | {
      readonly type: "killed";
      readonly mutant: number;
      readonly test: string;
      readonly name: string;
      readonly by: "failure" | "time";
    }
  /** Whether the test also fails without the mutant afterwards, because of a remaining state. */
  | { readonly type: "spoiled"; readonly mutant: number; readonly test: string };

export const PLAN = "MOORING_MUTATION_PLAN";
