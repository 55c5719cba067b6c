#!/usr/bin/env node
// The program: `mooring [serve] [flags]` runs the service, any other word is a command of the
// client.
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { V8_FLAGS } from "./app/memory-settings.ts";

for (const flag of V8_FLAGS) setFlagsFromString(flag);

// Caches compiled code beside the packages, which halves the time of later starts. Without write
// access to the folder there is no cache.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/mooring"));

const [, , first = "serve", ...rest] = process.argv;

if (first === "--check-backup-process") {
  // The service checks backups in this process.
  await (await import("./app/check-process.ts")).runCheckProcess();
} else if (first === "--derive-key-process") {
  // The service derives keys of passphrases in this process.
  await (await import("./app/key-process.ts")).runKeyProcess();
} else if (first === "serve" || first.startsWith("-")) {
  const { serve } = await import("./app/serve.ts");
  await serve(first === "serve" ? rest : process.argv.slice(2));
} else {
  // Imported on demand: neither the service nor a command loads the code of the other.
  const { runCli } = await import("./cli/cli.ts");
  const { processWorld } = await import("./cli/world.ts");
  const world = processWorld(
    async (config) => (await import("./app/offline.ts")).openOffline(config),
    {
      copy: async (...of) => (await import("./app/database.ts")).databases.copy(...of),
      check: async (of) => (await import("./app/database.ts")).databases.check(of),
    },
    async (...of) => (await import("./app/check-process.ts")).checkInProcess(...of),
  );
  process.exitCode = await runCli(world);
}
