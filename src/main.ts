#!/usr/bin/env node
// The program: `mooring [serve] [flags]` serves, any other word is a command of the client.
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";

// V8 would let its space for new objects grow to some 16 MB, which no processor's cache holds: at
// its first size a call costs up to a tenth less, and the process needs less memory.
setFlagsFromString("--semi-space-growth-factor=1");
// And its heap to four times of what is in use before it looks for garbage. At twice that the looks cost
// as much together, each is shorter, and a flood takes half as much memory (docs/attack.md).
setFlagsFromString("--heap-growing-percent=100");

// Compiled code is kept beside the packages: starts after the first one take half the time. Where
// that folder cannot be written, nothing is kept.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/mooring"));

const [, , first = "serve", ...rest] = process.argv;

if (first === "serve" || first.startsWith("-")) {
  const { serve } = await import("./app/serve.ts");
  await serve(first === "serve" ? rest : process.argv.slice(2));
} else {
  // Apart, so that a start of the service does not load the client, nor the client the service.
  const { runCli } = await import("./cli/cli.ts");
  const { processWorld } = await import("./cli/world.ts");
  const world = processWorld(
    async (config) => (await import("./app/offline.ts")).openOffline(config),
    {
      copy: async (...of) => (await import("./app/database.ts")).databases.copy(...of),
      check: async (of) => (await import("./app/database.ts")).databases.check(of),
    },
  );
  process.exitCode = await runCli(world);
}
