import { defineConfig } from "vitest/config";

const { MUTATION_TESTS = "" } = process.env;

/** The tests of a rule (rules.ts), all in one process. */
export default defineConfig({
  test: {
    include: MUTATION_TESTS.split("\n"),
    // They need a process of their own, and the memory of code without mutants.
    exclude: ["**/*.alone.test.ts"],
    isolate: false,
    maxWorkers: 1,
    globalSetup: "./test/run.ts",
    setupFiles: "./test/setup.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A mutant without the expected event fails soon.
    expect: { poll: { timeout: 4_000 } },
  },
});
