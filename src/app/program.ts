import { setFlagsFromString } from "node:v8";
import { V8_FLAGS } from "./memory-settings.ts";

/**
 * Runs the program: `mooring [serve] [flags]` is the service, any other word a command of the client.
 */
export async function runProgram(): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  const [, , first = "serve", ...rest] = process.argv;
  if (first === "--check-backup-process") {
    // The service checks backups in this process.
    await (await import("./check-process.ts")).runCheckProcess();
  } else if (first === "--derive-key-process") {
    // The service derives keys of passphrases in this process.
    await (await import("./key-process.ts")).runKeyProcess();
  } else if (first === "serve" || first.startsWith("-")) {
    const { serve } = await import("./serve.ts");
    await serve(first === "serve" ? rest : process.argv.slice(2));
  } else {
    // Imported on demand: neither the service nor a command loads the code of the other.
    const { runCli } = await import("../cli/cli.ts");
    const { processWorld } = await import("../cli/world.ts");
    const world = processWorld(
      async (config) => (await import("./offline.ts")).openOffline(config),
      {
        copy: async (...of) => (await import("./database.ts")).databases.copy(...of),
        check: async (of) => (await import("./database.ts")).databases.check(of),
      },
      async (...of) => (await import("./check-process.ts")).checkInProcess(...of),
    );
    process.exitCode = await runCli(world);
  }
}
