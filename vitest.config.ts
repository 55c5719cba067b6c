import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SlowFirst } from "./test/slow-first.ts";

// `npm test` leaves out test/slow, which needs programs or minutes; `npm run test:all` runs it too.
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        // A process runs one file after the other: imports take longer than most tests.
        test: {
          name: "shared",
          include: ["test/**/!(*.alone).test.ts"],
          pool: "forks",
          isolate: false,
          // Its files replace no modules.
          experimental: { nodeLoader: false },
        },
      },
      {
        extends: true,
        test: { name: "alone", include: ["test/**/*.alone.test.ts"], pool: "forks" },
      },
    ],
    // Node runs TypeScript itself, as it does for the program: Vite would transform each file.
    experimental: { viteModuleRunner: false },
    globalSetup: "./test/run.ts",
    setupFiles: "./test/setup.ts",
    // One more than there are cores: tests wait for processes and files some of the time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowFirst },
    reporters: ["default", "./tools/skip-reporter.ts"],
    // Far more than any takes alone: several share a core, and a machine may be ten times slower.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    // Longest wait for a condition: only a test that fails takes it.
    expect: { poll: { interval: 20, timeout: 60_000 } },
  },
});
