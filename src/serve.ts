import { readFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { availableParallelism } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { cliVariables } from "./cli/variable.ts";
import { formatAddress } from "./config/address.ts";
import { type Config, parseConfig } from "./config/config.ts";
import { configurationHelp } from "./config/help.ts";
import type { CallReport } from "./rpc/interceptor/report.ts";
import { openFront } from "./server/front.ts";
import { isWorker, reportReady, startWorkers, stopOnSupervisor } from "./server/supervisor.ts";
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
      await showHelp();
      return;
    case "version":
      process.stdout.write(`mooring ${programVersion()}\n`);
      return;
    case "problems":
      process.stderr.write("mooring: the configuration is wrong\n");
      for (const line of result.problems) process.stderr.write(`  ${line}\n`);
      process.exitCode = EXIT.usage;
      return;
    case "config":
      await run(result.config);
  }
}

async function showHelp(): Promise<void> {
  const { commandHelp } = await import("./cli/cli.ts");
  const columns = process.stdout.columns ?? 80;
  process.stdout.write(
    `${configurationHelp({ columns })}\n\nCommands of the client:\n\n${commandHelp()}\n`,
  );
}

async function run(config: Config): Promise<void> {
  try {
    await (config.workers > 1 && !isWorker ? supervise(config) : work(config));
  } catch (error) {
    process.stderr.write(`mooring: ${error instanceof Error ? error.message : String(error)}\n`);
    // What listens already would keep the process.
    process.exit(EXIT.failed);
  }
}

/** Serves in this process. It listens first and loads the rest of the program then. */
async function work(config: Config): Promise<void> {
  const front = await openFront(config.listen);
  await loadProgram();
  const { createLogger } = await import("./server/log.ts");
  const { startMooring } = await import("./mooring.ts");
  const log = await createLogger({ level: config.logLevel, format: config.logFormat });
  const version = programVersion();
  const metrics = await openMetrics(config);
  const mooring = await startMooring(config, {
    front,
    log,
    version,
    ...(metrics.onCall === undefined ? {} : { onCall: metrics.onCall }),
    showToken: (token) =>
      process.stderr.write(
        `The admin token of this new database, shown only this once: ${token}\n`,
      ),
  });
  const stop = endOnce(async () => {
    log.info("stopping");
    await mooring.stop();
    log.info("stopped");
  });
  if (isWorker) {
    stopOnSupervisor(stop);
    reportReady(formatAddress(mooring.address));
  } else stopOnSignals(stop);
  log.info(
    {
      listen: formatAddress(mooring.address),
      grpc: formatAddress(mooring.grpcAddress),
      metrics: metrics.address,
      database: config.database.filename,
      version,
      ...(isWorker ? { worker: process.pid } : {}),
    },
    "serving",
  );
  // At its end too, but a process may be killed.
  setTimeout(flushCompileCache, 5_000).unref();
}

/**
 * Loads the program in parts, with some turns of the event loop after each: to accept a connection, to
 * read `/ping` from it and to answer.
 */
async function loadProgram(): Promise<void> {
  const parts = [
    () => import("./server/log.ts"),
    () => import("./rpc/door/grpc.ts"),
    () => import("./rpc/door/connect.ts"),
    () => import("./store/sqlite-setting-store.ts"),
    () => import("./mooring.ts"),
  ];
  for (const load of parts) {
    await load();
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  }
}

/** Counts calls where metrics are configured. Workers leave the endpoint to their supervisor. */
async function openMetrics({ metricsListen }: Config): Promise<{
  readonly onCall?: (report: CallReport) => void;
  readonly address?: string;
}> {
  if (metricsListen === undefined) return {};
  const { createMetrics, serveMetrics } = await import("./server/metrics.ts");
  const { count, text } = createMetrics();
  if (isWorker) return { onCall: count };
  const { address } = await serveMetrics(metricsListen, text);
  return { onCall: count, address };
}

/** Serves in worker processes, which this one watches over. */
async function supervise(config: Config): Promise<void> {
  const { createLogger } = await import("./server/log.ts");
  const log = await createLogger({ level: config.logLevel, format: config.logFormat });
  const { workers } = config;
  const supervisor = await startWorkers({
    workers,
    onNotice: (event, facts) => log.warn(facts, event),
  });
  let metrics: string | undefined;
  if (config.metricsListen !== undefined) {
    const { serveMetrics, workerMetrics } = await import("./server/metrics.ts");
    ({ address: metrics } = await serveMetrics(config.metricsListen, workerMetrics()));
  }
  stopOnSignals(endOnce(supervisor.stop));
  log.info({ listen: supervisor.address, metrics, workers }, "all workers serve");
}

/** Ends the process after `stop`, at the first call; a second call ends it at once. */
function endOnce(stop: () => Promise<void>): () => void {
  let stopping = false;
  return () => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    stop().then(
      () => process.exit(EXIT.stopped),
      (error: unknown) => {
        process.stderr.write(`mooring: could not stop in order: ${String(error)}\n`);
        process.exit(EXIT.failed);
      },
    );
  };
}

/** The first signal stops in order, a second one at once. */
function stopOnSignals(stop: () => void): void {
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
