import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real servers, databases and programs: each file in a process of its own.
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
