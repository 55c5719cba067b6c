// Longer than other files: it is the one table that everything about the configuration comes from.

import { address } from "./address.ts";
import { database, showDatabase } from "./database.ts";
import { duration } from "./duration.ts";
import { origins, showOrigins } from "./origin.ts";
import { adminToken, secretKeys } from "./secret.ts";
import type { Parser } from "./value.ts";
import { choice, nameList, path, wholeNumber, workerCount } from "./value.ts";

/** One variable, and the flag of the same name. Parsing, help and documentation all read this. */
export interface Definition<T = unknown> {
  readonly variable: `MOORING_${string}`;
  /** What stands for the value in the help, such as `HOST:PORT`. */
  readonly placeholder: string;
  readonly parse: Parser<T>;
  /** As somebody would write it; absent when there is none. */
  readonly default?: string;
  /** What holds when nothing is given and `default` can't say it. */
  readonly otherwise?: string;
  /** What may be shown of a wrong value in an error; the whole value when absent. */
  readonly show?: (text: string) => string;
  /** Secret values are never shown, and the help warns of the process list. */
  readonly secret?: true;
  /** A sentence in Markdown, of which only `code` is used: the terminal leaves out the marks. */
  readonly help: string;
}

/** Everything that can be configured, in the order of the help. */
export const definitions = {
  listen: {
    variable: "MOORING_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    default: "127.0.0.1:5244",
    help: "Address for every protocol: `HOST:PORT`, `[IPV6]:PORT`, `:PORT` for all interfaces, or `unix:PATH`; port 0 takes any free one.",
  },
  grpcListen: {
    variable: "MOORING_GRPC_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    otherwise: "gRPC shares the port",
    help: "An address for gRPC alone; the other protocols keep `MOORING_LISTEN`.",
  },
  dataDir: {
    variable: "MOORING_DATA_DIR",
    placeholder: "PATH",
    parse: path,
    default: "./data",
    help: "Folder of everything that is kept; made when it is missing.",
  },
  databaseUrl: {
    variable: "MOORING_DATABASE_URL",
    placeholder: "URL",
    parse: database,
    show: showDatabase,
    otherwise: "`mooring.db` in the data folder",
    help: "The database: `sqlite:PATH`, or `sqlite::memory:` for one that ends with the process.",
  },
  adminToken: {
    variable: "MOORING_ADMIN_TOKEN",
    placeholder: "TOKEN",
    parse: adminToken,
    secret: true,
    otherwise: "made and shown at the first start",
    help: "Admin token for a database that has none yet, at least 32 characters; later starts leave the stored one as it is.",
  },
  adminTokenFile: {
    variable: "MOORING_ADMIN_TOKEN_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File to read the admin token from, instead of `MOORING_ADMIN_TOKEN`.",
  },
  httpStatus: {
    variable: "MOORING_HTTP_STATUS",
    placeholder: "MODE",
    parse: choice("envelope", "code"),
    default: "envelope",
    help: "HTTP status of REST replies: `envelope` (200 on documented paths, the outcome is in the body) or `code` (the status follows the body's code).",
  },
  corsOrigins: {
    variable: "MOORING_CORS_ORIGINS",
    placeholder: "ORIGINS",
    parse: origins,
    show: showOrigins,
    default: "*",
    help: "Web origins that browsers may call from: `*` for all, or a list such as `https://a.example,http://localhost:3000`.",
  },
  logLevel: {
    variable: "MOORING_LOG_LEVEL",
    placeholder: "LEVEL",
    parse: choice("fatal", "error", "warn", "info", "debug", "trace", "silent"),
    default: "info",
    help: "Least severe kind of line to log: `fatal`, `error`, `warn`, `info`, `debug`, `trace`, or `silent` for none.",
  },
  logFormat: {
    variable: "MOORING_LOG_FORMAT",
    placeholder: "FORMAT",
    parse: choice("auto", "json", "pretty"),
    default: "auto",
    help: "Form of the log: `json`, `pretty`, or `auto`, which is pretty on a terminal and JSON elsewhere.",
  },
  metricsListen: {
    variable: "MOORING_METRICS_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    otherwise: "no metrics",
    help: "An address for metrics: `GET /metrics`, in the format of Prometheus, without a token.",
  },
  shutdownGrace: {
    variable: "MOORING_SHUTDOWN_GRACE",
    placeholder: "DURATION",
    parse: duration({ longest: "1h" }),
    default: "10s",
    help: "How long calls in flight may take to finish when the service is told to stop: a number with `ms`, `s`, `m`, `h` or `d`, at most `1h`.",
  },
  driversDir: {
    variable: "MOORING_DRIVERS_DIR",
    placeholder: "PATH",
    parse: path,
    help: "Folder of driver files that add to the built-in drivers or replace them.",
  },
  driversEnabled: {
    variable: "MOORING_DRIVERS_ENABLED",
    placeholder: "NAMES",
    parse: nameList,
    otherwise: "all",
    help: "Names of the drivers to offer, separated by commas.",
  },
  settingsFile: {
    variable: "MOORING_SETTINGS_FILE",
    placeholder: "PATH",
    parse: path,
    help: "YAML or JSON file of settings that are applied at each start and when it changes, and that clients can't change.",
  },
  historyRevisions: {
    variable: "MOORING_HISTORY_REVISIONS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 10_000_000 }),
    default: "10000",
    help: "How many revisions of the settings the history keeps at most.",
  },
  historyAge: {
    variable: "MOORING_HISTORY_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "365d",
    help: "How long the history keeps a revision: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  secretKey: {
    variable: "MOORING_SECRET_KEY",
    placeholder: "KEYS",
    parse: secretKeys,
    secret: true,
    otherwise: "secret settings are stored in the clear",
    help: "Keys that seal secret settings in the database, separated by commas: 32 bytes each, in hexadecimal or base64; the first seals, the others only open.",
  },
  secretKeyFile: {
    variable: "MOORING_SECRET_KEY_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File to read the keys from, instead of `MOORING_SECRET_KEY`.",
  },
  workers: {
    variable: "MOORING_WORKERS",
    placeholder: "COUNT",
    parse: workerCount,
    default: "1",
    help: "Number of processes that serve, 1 to 128, or `auto` for one per processor core.",
  },
} as const satisfies Record<string, Definition>;

/** The name that the table above gives to a definition. */
export type ConfigName = keyof typeof definitions;

/** The definitions in order, without their particular types. */
export const definitionList: readonly Definition[] = Object.values(definitions);

/** `MOORING_GRPC_LISTEN` → `--grpc-listen`. */
export function flagOf({ variable }: Pick<Definition, "variable">): string {
  return `--${variable.slice("MOORING_".length).toLowerCase().replaceAll("_", "-")}`;
}
