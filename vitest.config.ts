import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

/** What needs no process of its own shares one. */
const plain = [
  "test/{config,rpc,server,downloader,bench,http}/**/*.test.ts",
  "test/service/*.test.ts",
  "test/service/{access,backup,driver,language,provision,secret,setting}/**/*.test.ts",
  "test/store/sqlite/*.test.ts",
];

/** Those that look at the memory of their process, set its umask, replace a module, or start a whole service. */
const alone = [
  "test/server/idle-memory.test.ts",
  "test/rpc/body.test.ts",
  "test/store/sqlite/file.test.ts",
  "test/http/{openapi,schemathesis}.test.ts",
  "test/bench/token.test.ts",
  "test/wire/access-option.test.ts",
];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: "plain", include: plain, exclude: alone, pool: "threads", isolate: false },
      },
      {
        extends: true,
        test: { name: "alone", include: alone, pool: "forks" },
      },
      {
        extends: true,
        // Real servers, databases and programs: a process takes one file after the other.
        test: {
          name: "real",
          include: ["test/**/*.test.ts"],
          exclude: [...plain, ...alone],
          pool: "forks",
          isolate: false,
        },
      },
    ],
    globalSetup: "./test/run.ts",
    // One more than there are cores: tests wait for processes and files some of the time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./tools/skip-reporter.ts"],
    // Far more than any takes alone: several share a core, and a machine may be ten times slower.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    // Until a condition holds; a busy machine takes its time.
    expect: { poll: { timeout: 20_000 } },
  },
});
