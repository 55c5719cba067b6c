import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { PLAN, type Plan } from "./plan.ts";

const { files }: Plan = JSON.parse(readFileSync(process.env[PLAN] ?? "", "utf8"));

class PlannedOrder extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      files.findIndex((file) => moduleId.endsWith(`/${file}`));
    return specifications.toSorted((one, other) => rank(one) - rank(other));
  }
}

/** Tests with mutants: all files in one process, so that modules load once. */
export default defineConfig({
  root: join(import.meta.dirname, "../.."),
  test: {
    include: [...files],
    pool: "forks",
    isolate: false,
    maxWorkers: 1,
    runner: "./tools/mutation/runner.ts",
    globalSetup: "./test/run.ts",
    setupFiles: "./test/setup.ts",
    sequence: { sequencer: PlannedOrder },
    reporters: ["dot"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 4_000 } },
  },
});
