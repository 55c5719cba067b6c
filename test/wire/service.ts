import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Writable } from "node:stream";
import { pino } from "pino";
import { checkInProcess } from "../../src/app/check-process.ts";
import { type Mooring, type MooringDeps, startMooring } from "../../src/app/mooring.ts";
import { checkConfigOf } from "../../src/app/process-check.ts";
import type { CheckContent } from "../../src/backups/check.ts";
import { type Config, parseConfig } from "../../src/config/config.ts";
import { quickKey } from "../archive/text.ts";
import { newDatabaseFolder } from "../store/folder.ts";

/** The admin token at the start of every test service. */
export const TOKEN = "wire-test-token-0123456789abcdefghijklmnop";
/** The version of every test service. */
export const VERSION = "v9.8.7";

/** A whole service on real ports of 127.0.0.1, with its own database. */
export interface TestService {
  readonly mooring: Mooring;
  /** The port of every protocol. */
  readonly port: number;
  /** The port of gRPC: the same, unless MOORING_GRPC_LISTEN is set; 0 for a Unix socket. */
  readonly grpcPort: number;
  /** Folder of its database, for a second process on the same file. */
  readonly folder: string;
  /** Its whole log, from level debug on. */
  readonly log: () => string;
  /** Lines of its log. */
  readonly logLines: () => readonly Record<string, unknown>[];
  /** Ends it and removes its folder. */
  readonly stop: () => Promise<void>;
}

export interface TestServiceOptions {
  /** Variables in addition to its own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Shorter waits for actions on sites. */
  readonly siteTimes?: MooringDeps["siteTimes"];
  /** Shorter waits for actions on mounts. */
  readonly mountTimes?: MooringDeps["mountTimes"];
  /** Interval of checks of the schedule of backups, in milliseconds. */
  readonly backupInterval?: number;
  /** Derivation of keys of sealed backups; default: without scrypt. */
  readonly deriveKey?: MooringDeps["deriveKey"];
  readonly version?: string;
  /** The folder of another test service, whose database this one shares. */
  readonly folder?: string;
}

/** Starts the service like src/main.ts, inside this process. */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = options.folder ?? newDatabaseFolder();
  let log = "";
  /** The lines read so far, and the text after them. */
  const lines: Record<string, unknown>[] = [];
  let unread = "";
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      log += String(chunk);
      unread += String(chunk);
      done();
    },
  });
  const config = configOf(folder, options.env ?? {});
  let mooring: Mooring | undefined = await startMooring(config, {
    log: pino({ level: "debug", base: null }, sink),
    version: options.version ?? VERSION,
    deriveKey: options.deriveKey ?? quickKey,
    checkBackup: checkHere(config),
    showToken: () => {},
    siteTimes: options.siteTimes,
    mountTimes: options.mountTimes,
    backupInterval: options.backupInterval,
  });
  const { address, grpcAddress } = mooring;
  return {
    get mooring() {
      if (mooring === undefined) throw new Error("the test service has ended");
      return mooring;
    },
    port: portOf(address),
    grpcPort: portOf(grpcAddress),
    folder,
    log: () => log,
    logLines: () => {
      const read = unread.split("\n");
      unread = read.pop() ?? "";
      for (const line of read) lines.push(JSON.parse(line));
      return lines;
    },
    stop: async () => {
      await mooring?.stop();
      // Variables of test files live as long as their process.
      mooring = undefined;
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a service that a test can end and start again on its database. */
export async function startRestartable(
  options: TestServiceOptions = {},
): Promise<Pick<TestService, "port" | "grpcPort" | "stop"> & { restart(): Promise<void> }> {
  const folder = newDatabaseFolder();
  let service = await startService({ ...options, folder });
  return {
    get port() {
      return service.port;
    },
    get grpcPort() {
      return service.grpcPort;
    },
    restart: async () => {
      await service.stop();
      service = await startService({ ...options, folder });
    },
    stop: async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Checks backups in this process: a process of its own takes a second to start. */
export function checkHere(config: Config): CheckContent {
  return (content, passphrase) =>
    checkInProcess(content, passphrase, checkConfigOf(config), quickKey);
}

/** Configuration of a service in a folder. */
export function configOf(folder: string, env: Readonly<Record<string, string>>): Config {
  const result = parseConfig({
    args: [],
    env: {
      MOORING_LISTEN: "127.0.0.1:0",
      MOORING_DATA_DIR: folder,
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_SHUTDOWN_GRACE: "200ms",
      // Many tests send thousands of wrong tokens.
      MOORING_WRONG_TOKENS: "0",
      // Tests count the calls of sites.
      MOORING_PROBE_INTERVAL: "0s",
      ...env,
    },
    cwd: folder,
    parallelism: 1,
    readFile: (path) => readFileSync(path, "utf8"),
  });
  if (result.kind !== "config") throw new Error(`the test's configuration: ${result.kind}`);
  return result.config;
}

function portOf(address: Mooring["address"]): number {
  return "port" in address ? address.port : 0;
}
