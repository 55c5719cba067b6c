import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { cliVariables } from "../cli/world.ts";
import { type Config, parseConfig } from "../config/config.ts";
import { databaseName, inMemory } from "../config/database.ts";
import { configurationHelp } from "../config/help.ts";
import { errorText } from "../error-text.ts";
import type { Logger } from "../telemetry/log.ts";
import { openFront } from "../transport/front.ts";
import { formatAddress } from "../transport/listen.ts";
import { releaseWhenIdle } from "./idle-memory.ts";
import {
  isWorker,
  reportReady,
  speaksForAll,
  startWorkers,
  stopOnSupervisor,
  workerPorts,
} from "./supervisor.ts";
import { programVersion } from "./version.ts";

/** Time limit for sending the last spans, in milliseconds. */
const LAST_SPANS = 2_000;

/** Time limit for writing the last lines of the log, in milliseconds. */
const LAST_LINES = 1_000;

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
      process.stderr.write("mooring: the configuration is invalid\n");
      for (const line of result.problems) process.stderr.write(`  ${line}\n`);
      process.stderr.write(await hintOfCommand(args));
      process.exitCode = EXIT.usage;
      return;
    case "config":
      await run(result.config);
  }
}

/** A line for a command after its flags: `mooring --json get` is read as flags of the service. */
async function hintOfCommand(args: readonly string[]): Promise<string> {
  const { commands } = await import("../cli/cli.ts");
  const name = commands.find((command) => args.includes(command.name))?.name;
  if (name === undefined) return "";
  return `  "${name}" is a command: write it before its flags, "mooring ${name} …"\n`;
}

async function showHelp(): Promise<void> {
  const { commandHelp } = await import("../cli/cli.ts");
  const columns = process.stdout.columns ?? 80;
  process.stdout.write(configurationHelp({ columns, commands: commandHelp() }));
}

async function run(config: Config): Promise<void> {
  try {
    if (isWorker) await work({ ...config, ...workerPorts() });
    else await (config.workers > 1 ? supervise(config) : work(config));
  } catch (error) {
    const { explainRunning } = await import("./running-service.ts");
    const problem = (await explainRunning(error, config.listen)) ?? errorText(error);
    process.stderr.write(`mooring: ${problem}\n`);
    // Listening sockets would keep the process alive.
    process.exit(EXIT.failed);
  }
}

/** Serves in this process: listens first, then loads the rest of the program. */
async function work(config: Config): Promise<void> {
  const { socketMode, tls } = config;
  const front = await openFront(config.listen, {
    variable: "MOORING_LISTEN",
    socketMode,
    credentials: tls && (await import("./ports.ts")).readCredentials(tls),
  });
  await loadProgram(config);
  const { createLogger } = await import("../telemetry/log.ts");
  const { startMooring } = await import("./mooring.ts");
  const log = await createLogger({
    level: config.logLevel,
    format: config.logFormat,
    ...(isWorker ? { worker: process.pid } : {}),
  });
  const version = programVersion();
  const metrics = await openMetrics(config, version);
  const tracing = await openTracing(version);
  const mooring = await startMooring(config, {
    front,
    log,
    commonLog: speaksForAll ? log : log.child({}, { level: "silent" }),
    version,
    observers: [metrics, tracing].flatMap((of) => of?.observer ?? []),
    onTransaction: metrics?.committed,
    showToken: (token) => printToken(token, config),
  });
  metrics?.measure(mooring.gauges);
  const stop = endOnce(log, async () => {
    log.info("stopping");
    await mooring.stop();
    // An unreachable collector must not delay the exit.
    await Promise.race([tracing?.close().catch(() => undefined), sleep(LAST_SPANS)]);
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
      metrics: metrics && "address" in metrics ? metrics.address : undefined,
      database: databaseName(config.database),
      version,
    },
    "serving",
  );
  releaseWhenIdle();
  // Node.js loads its Fetch API at the first use, 30 ms in the first call that fails (ConnectError).
  setTimeout(() => Reflect.get(globalThis, "Headers"), 1_000).unref();
}

function printToken(token: string, { database }: Config): void {
  const again =
    database.dialect === "postgres" || database.filename === inMemory
      ? ""
      : ` ("${programName()} token show --database ${database.filename}" shows it again)`;
  process.stderr.write(`The admin token of this new database${again}: ${token}\n`);
}

/** The program as this user can type it: in the sources there is no command of its own. */
function programName(): string {
  return process.env["npm_lifecycle_event"] === undefined ? "mooring" : "npm run -s mooring --";
}

/**
 * Loads the program in parts. After each part the event loop runs a few ticks, so that `/ping` is
 * answered during the start.
 */
async function loadProgram({ database }: Config): Promise<void> {
  const parts = [
    () => import("../telemetry/log.ts"),
    () => import("./http-server.ts"),
    () =>
      database.dialect === "sqlite"
        ? import("../store/sqlite/store.ts")
        : import("../store/postgres/store.ts"),
    () => import("./mooring.ts"),
  ];
  for (const load of parts) {
    await load();
    for (let tick = 0; tick < 3; tick += 1) await nextTick();
  }
}

/** Collects metrics if they are configured. The supervisor serves the endpoint of its workers. */
async function openMetrics({ metricsListen, socketMode }: Config, version: string) {
  if (metricsListen === undefined) return undefined;
  const { createMetrics } = await import("../telemetry/metrics.ts");
  const metrics = createMetrics(version);
  if (isWorker) return metrics;
  const { serveMetrics } = await import("../telemetry/metrics-server.ts");
  const { address } = await serveMetrics({ at: metricsListen, socketMode }, metrics.text);
  return { ...metrics, address };
}

/** Exports a span of each call if OpenTelemetry is configured; otherwise its code is not loaded. */
async function openTracing(version: string) {
  if (!process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]) return undefined;
  const { createTracing } = await import("../telemetry/tracing.ts");
  return createTracing(process.env, version);
}

/** Serves in worker processes, which this process supervises. */
async function supervise(config: Config): Promise<void> {
  const { createLogger } = await import("../telemetry/log.ts");
  const log = await createLogger({ level: config.logLevel, format: config.logFormat });
  const { holdPort } = await import("../transport/listen.ts");
  const { workers, listen, grpcListen, metricsListen, socketMode } = config;
  const supervisor = startWorkers({
    workers,
    ports: {
      listen: await holdPort(listen),
      ...(grpcListen && { grpcListen: await holdPort(grpcListen) }),
    },
    socketMode,
    onNotice: (event, facts) => log.warn(facts, event),
  });
  // Registered before the first worker serves: a signal's default action would abort calls of the
  // workers.
  stopOnSignals(endOnce(log, supervisor.stop));
  const address = await supervisor.serving;
  let metrics: string | undefined;
  if (metricsListen !== undefined) {
    const { workerMetrics } = await import("../telemetry/metrics.ts");
    const { serveMetrics } = await import("../telemetry/metrics-server.ts");
    ({ address: metrics } = await serveMetrics({ at: metricsListen, socketMode }, workerMetrics()));
  }
  log.info({ listen: address, metrics, workers }, "all workers serve");
}

/**
 * Returns a function whose first call runs `stop` and ends the process. A second call ends it at
 * once.
 */
function endOnce(log: Logger, stop: () => Promise<void>): () => void {
  let stopping = false;
  return () => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    stop().then(
      () => end(log, EXIT.stopped),
      (error: unknown) => {
        process.stderr.write(`mooring: the shutdown failed: ${String(error)}\n`);
        return end(log, EXIT.failed);
      },
    );
  };
}

async function end(log: Logger, code: number): Promise<void> {
  const { flushLog } = await import("../telemetry/log.ts");
  // process.exit would wait without limit if the reader of the log does not read the last lines.
  if (!(await flushLog(log, LAST_LINES))) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}

/** The first signal stops the process gracefully, the second one immediately. */
function stopOnSignals(stop: () => void): void {
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
