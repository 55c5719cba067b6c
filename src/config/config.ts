import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { type Address, formatAddress } from "./address.ts";
import { type Database, inMemory } from "./database.ts";
import { definitionList, flagOf } from "./definition.ts";
import { parseTexts, type Values } from "./definition-values.ts";
import { readFlags } from "./flag.ts";
import type { Origins } from "./origin.ts";
import { quote } from "./quote.ts";
import { type ReadFile, readSecretFiles } from "./secret-file.ts";
import { type Environment, readTexts } from "./source.ts";
import { unknownVariables } from "./unknown-variable.ts";
import type { ParseContext } from "./value.ts";

/** The whole configuration, checked and frozen. Paths are absolute, durations in milliseconds. */
export interface Config {
  readonly listen: Address;
  /** Undefined: gRPC shares the address of `listen`. */
  readonly grpcListen: Address | undefined;
  readonly dataDir: string;
  readonly database: Database;
  /** For a database that has no token yet; undefined: make one. Secret. */
  readonly adminToken: string | undefined;
  readonly httpStatus: "envelope" | "code";
  readonly corsOrigins: Origins;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  readonly logFormat: "auto" | "json" | "pretty";
  /** Undefined: nothing is counted. */
  readonly metricsListen: Address | undefined;
  readonly shutdownGraceMs: number;
  readonly driversDir: string | undefined;
  /** Undefined: all drivers. The names are not compared with the catalogue here. */
  readonly driversEnabled: readonly string[] | undefined;
  readonly settingsFile: string | undefined;
  readonly historyRevisions: number;
  readonly historyAgeMs: number;
  /** The first seals, all open; empty: nothing is sealed. */
  readonly secretKeys: readonly KeyObject[];
  readonly workers: number;
}

/** All that `parseConfig` knows of the world. */
export interface ConfigInput extends ParseContext {
  /** The command line after `mooring serve`. */
  readonly args: readonly string[];
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** `MOORING_` variables of other commands: neither read here nor complained about. */
  readonly otherVariables?: readonly string[];
}

/** What the command line and the environment ask for. Each problem is one line for a person. */
export type ConfigResult =
  | { readonly kind: "config"; readonly config: Config }
  | { readonly kind: "problems"; readonly problems: readonly [string, ...string[]] }
  | { readonly kind: "help" }
  | { readonly kind: "version" };

/**
 * Reads the configuration from flags and variables. A flag wins over the variable of its name, whose
 * value then does not matter. Never throws; reports all problems at once, none with a secret in it.
 * `--help` and `--version` come before any problem.
 */
export function parseConfig(input: ConfigInput): ConfigResult {
  const { args, env, otherVariables = [] } = input;
  const flags = readFlags(args, definitionList.map(flagOf));
  if (flags.help || flags.version) {
    return { kind: flags.help ? "help" : "version" };
  }
  const texts = readTexts({ flags, env });
  const fileProblems = readSecretFiles(texts, { context: input, readFile: input.readFile });
  const { values, problems } = parseTexts(texts, input);
  const [first, ...more] = [
    ...flags.problems,
    ...fileProblems,
    ...problems,
    ...contradictions(values),
    ...unknownVariables(env, otherVariables),
  ];
  return first === undefined
    ? // Without a problem every definition that has a default has a value.
      { kind: "config", config: configOf(values as Values) }
    : { kind: "problems", problems: [first, ...more] };
}

/** Problems of values that are right each for itself. */
function contradictions({
  listen,
  grpcListen,
  databaseUrl,
  workers = 1,
}: Partial<Values>): string[] {
  const problems: string[] = [];
  const address = listen === undefined ? "" : formatAddress(listen);
  // Two sockets with port 0 get different ports.
  if (
    grpcListen !== undefined &&
    formatAddress(grpcListen) === address &&
    !address.endsWith(":0")
  ) {
    problems.push(
      `MOORING_GRPC_LISTEN and MOORING_LISTEN are both ${quote(address)}: leave the former out, ` +
        "and gRPC shares the port",
    );
  }
  if (databaseUrl?.filename === inMemory && workers > 1) {
    problems.push(
      `MOORING_WORKERS is ${workers}, but MOORING_DATABASE_URL is in memory, which processes ` +
        "can't share: use one worker or a file",
    );
  }
  return problems;
}

function configOf(values: Values): Config {
  const config: Config = {
    listen: values.listen,
    grpcListen: values.grpcListen,
    dataDir: values.dataDir,
    database: values.databaseUrl ?? {
      dialect: "sqlite",
      filename: join(values.dataDir, "mooring.db"),
    },
    adminToken: values.adminToken,
    httpStatus: values.httpStatus,
    corsOrigins: values.corsOrigins,
    logLevel: values.logLevel,
    logFormat: values.logFormat,
    metricsListen: values.metricsListen,
    shutdownGraceMs: values.shutdownGrace,
    driversDir: values.driversDir,
    driversEnabled: values.driversEnabled,
    settingsFile: values.settingsFile,
    historyRevisions: values.historyRevisions,
    historyAgeMs: values.historyAge,
    secretKeys: values.secretKey ?? [],
    workers: values.workers,
  };
  for (const value of Object.values(config)) {
    Object.freeze(value);
  }
  return Object.freeze(config);
}
