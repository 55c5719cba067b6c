/** Plan of the test runner, as JSON in the file named by the environment variable PLAN. */
export interface Plan {
  /**
   * `cover`: each test runs twice, and reports the mutants that it reaches. `mutate`: each test
   * runs once for each mutant that it reaches. `load`: all tests run with one mutant that is on
   * before any module loads.
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
  /** A test that fails when it runs, or when it runs again: no evidence. */
  | { readonly type: "unfit"; readonly test: string; readonly name: string }
  /** Mutants that code outside of tests reaches, such as that of modules and of beforeAll. */
  | { readonly type: "outside"; readonly mutants: readonly number[] }
  | { readonly type: "begun"; readonly mutant: number; readonly test: string }
  | {
      readonly type: "killed";
      readonly mutant: number;
      readonly test: string;
      readonly name: string;
      readonly by: "failure" | "time";
    }
  /** After the mutant the test fails without it, too: something is left behind. */
  | { readonly type: "spoiled"; readonly mutant: number; readonly test: string };

export const PLAN = "MOORING_MUTATION_PLAN";
