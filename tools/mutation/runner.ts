// A process that runs tests of a copy of the tree again and again with one file changed. Its parent
// ends it when a change makes a test run for ever.
import { writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { createVitest, type Vitest } from "vitest/node";

/** A run of some test files, given as paths. */
export interface RunRequest {
  /** The changed file, and its text while the tests run. */
  readonly file: string;
  readonly text: string;
  /** Its text after that. */
  readonly original: string;
  readonly stages: readonly (readonly string[])[];
}

/** The first test that has failed; undefined when all have passed. */
export interface RunResult {
  readonly failed?: string | undefined;
}

const root = process.cwd();
const vitest = await createVitest(
  "test",
  {
    ...{ root, config: false, watch: false, bail: 1, maxWorkers: 2, reporters: [{}] },
    // A process for each file: what a mutant leaves in one must not fail the tests of the next.
    ...{ pool: "forks", isolate: true, globalSetup: ["test/run.ts"] },
    ...{ include: ["test/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 },
    expect: { poll: { timeout: 20_000 } },
  },
  {},
  // Mutants may print anything.
  { stdout: new PassThrough().resume() as never, stderr: new PassThrough().resume() as never },
);
await vitest.standalone();
const specifications = await vitest.globTestSpecifications();

process.on("message", async ({ file, text, original, stages }: RunRequest) => {
  const change = (to: string): void => {
    writeFileSync(file, to);
    vitest.invalidateFile(file);
  };
  change(text);
  let failed: string | undefined;
  for (const stage of stages) failed ??= await firstFailure(vitest, stage);
  change(original);
  process.send?.({ failed } satisfies RunResult);
});
process.on("disconnect", () => process.exit());
process.send?.({} satisfies RunResult);

async function firstFailure(vitest: Vitest, paths: readonly string[]): Promise<string | undefined> {
  const wanted = specifications.filter(({ moduleId }) => paths.includes(moduleId));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted);
  for (const module of testModules) {
    for (const test of module.children.allTests("failed")) return test.fullName;
    if (module.state() === "failed") return `${module.relativeModuleId} as a whole`;
  }
  return unhandledErrors.length > 0 ? String(unhandledErrors[0]) : undefined;
}
