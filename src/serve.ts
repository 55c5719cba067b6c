import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { cliVariables } from "./cli/variable.ts";
import { formatAddress } from "./config/address.ts";
import { type Config, parseConfig } from "./config/config.ts";
import { configurationHelp } from "./config/help.ts";
import { openFront } from "./server/front.ts";
import { programVersion } from "./version.ts";

/** Exit codes of the service. */
const EXIT = { stopped: 0, failed: 1, usage: 2 } as const;

/**
 * Runs the service until a signal ends it.
 *
 * @param args the flags after `mooring serve`.
 */
export async function serve(args: readonly string[]): Promise<void> {
  const result = parseConfig({
    args,
    env: process.env,
    cwd: process.cwd(),
    parallelism: availableParallelism(),
    readFile: (path) => readFileSync(path, "utf8"),
    otherVariables: cliVariables,
  });
  switch (result.kind) {
    case "help":
      process.stdout.write(`${configurationHelp({ columns: process.stdout.columns ?? 80 })}\n`);
      return;
    case "version":
      process.stdout.write(`mooring ${programVersion()}\n`);
      return;
    case "problems":
      process.stderr.write(`mooring: the configuration is wrong\n`);
      for (const line of result.problems) process.stderr.write(`  ${line}\n`);
      process.exitCode = EXIT.usage;
      return;
    case "config":
      await run(result.config);
  }
}

/** Listens first and loads the rest of the program then: `/ping` answers meanwhile. */
async function run(config: Config): Promise<void> {
  const version = programVersion();
  try {
    const front = await openFront(config.listen);
    const { createLogger } = await import("./server/log.ts");
    const { startMooring } = await import("./mooring.ts");
    const log = await createLogger({ level: config.logLevel, format: config.logFormat });
    const mooring = await startMooring(config, {
      front,
      log,
      version,
      showToken: (token) =>
        process.stderr.write(
          `The admin token of this new database, shown only this once: ${token}\n`,
        ),
    });
    stopOnSignals(async (signal) => {
      log.info({ signal }, "stopping");
      await mooring.stop();
      log.info("stopped");
    });
    log.info(
      {
        listen: formatAddress(mooring.address),
        grpc: formatAddress(mooring.grpcAddress),
        database: config.database.filename,
        version,
      },
      "serving",
    );
  } catch (error) {
    process.stderr.write(`mooring: ${error instanceof Error ? error.message : String(error)}\n`);
    // What listens already would keep the process.
    process.exit(EXIT.failed);
  }
}

/** The first signal stops in order, a second one at once. */
function stopOnSignals(stop: (signal: string) => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: string): void => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    stop(signal).then(
      () => process.exit(EXIT.stopped),
      (error: unknown) => {
        process.stderr.write(`mooring: could not stop in order: ${String(error)}\n`);
        process.exit(EXIT.failed);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
