import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { formatAddress } from "./config/address.ts";
import type { Config } from "./config/config.ts";
import { parseConfig } from "./config/config.ts";
import { configurationHelp } from "./config/help.ts";
import { startMooring } from "./mooring.ts";
import { createLogger } from "./server/log.ts";
import { programVersion } from "./version.ts";

/** Exit codes (sysexits.h has more than anybody reads). */
const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

const result = parseConfig({
  args: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  parallelism: availableParallelism(),
  readFile: (path) => readFileSync(path, "utf8"),
});

switch (result.kind) {
  case "help":
    process.stdout.write(`${configurationHelp({ columns: process.stdout.columns ?? 80 })}\n`);
    break;
  case "version":
    process.stdout.write(`mooring ${programVersion()}\n`);
    break;
  case "problems":
    process.stderr.write(
      `mooring: the configuration is wrong\n${result.problems.map((line) => `  ${line}\n`).join("")}`,
    );
    process.exitCode = EXIT.usage;
    break;
  case "config":
    await serve(result.config);
}

async function serve(config: Config): Promise<void> {
  const log = await createLogger({ level: config.logLevel, format: config.logFormat });
  try {
    const mooring = await startMooring(config, {
      log,
      version: programVersion(),
      showToken: (token) =>
        process.stderr.write(
          `The admin token of this new database, shown only this once: ${token}\n`,
        ),
    });
    log.info(
      {
        listen: formatAddress(mooring.address),
        grpc: formatAddress(mooring.grpcAddress),
        database: config.database.filename,
        version: programVersion(),
      },
      "serving",
    );
    stopOnSignals(async (signal) => {
      log.info({ signal }, "stopping");
      await mooring.stop();
      log.info("stopped");
    });
  } catch (error) {
    process.stderr.write(`mooring: ${error instanceof Error ? error.message : String(error)}\n`);
    log.debug({ err: error }, "could not start");
    process.exitCode = EXIT.failed;
  }
}

/** The first signal stops in order, a second one at once. */
function stopOnSignals(stop: (signal: string) => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: string): void => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    stop(signal).then(
      () => process.exit(EXIT.ok),
      (error: unknown) => {
        process.stderr.write(`mooring: could not stop in order: ${String(error)}\n`);
        process.exit(EXIT.failed);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
