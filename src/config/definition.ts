// Longer than other files: it is the one table that everything about the configuration comes from.

import { address, proxyList, serverUrl, showServerUrl } from "./address.ts";
import { database, showDatabase } from "./database.ts";
import { adminToken, otherToken, secretKeys } from "./secret.ts";
import type { Parsed, Parser } from "./value.ts";
import {
  byteCount,
  choice,
  duration,
  fileMode,
  nameList,
  origins,
  path,
  probeInterval,
  showOrigins,
  wholeNumber,
  workerCount,
} from "./value.ts";

/** Variable and the flag of the same name. Parser, help and documentation read it. */
export interface Definition<T = unknown> {
  readonly variable: `MOORING_${string}`;
  /** Placeholder of the value in the help, such as `HOST:PORT`. */
  readonly placeholder: string;
  readonly parse: Parser<T>;
  /** Default in the notation of the variable; absent: none. */
  readonly default?: string;
  /** Behaviour without a value where `default` cannot express it. */
  readonly otherwise?: string;
  /** Part of an invalid value that an error may show; the whole value when absent. */
  readonly show?: (text: string) => string;
  /** Secret values are never shown, and the help warns of the process list. */
  readonly secret?: true;
  /** A sentence in Markdown, of which only `code` is used: the terminal leaves out the marks. */
  readonly help: string;
}

/** Everything that can be configured, by its name in `Config`, in the order of the help. */
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
  tlsCertificate: {
    variable: "MOORING_TLS_CERT_FILE",
    placeholder: "PATH",
    parse: path,
    otherwise: "no TLS",
    help: "Certificate of the port in PEM, followed by what leads to its authority: every protocol is served over TLS then. Read again when it changes.",
  },
  tlsKey: {
    variable: "MOORING_TLS_KEY_FILE",
    placeholder: "PATH",
    parse: path,
    help: "Private key of that certificate in PEM, without a passphrase.",
  },
  tlsClientAuthorities: {
    variable: "MOORING_TLS_CLIENT_CA_FILE",
    placeholder: "PATH",
    parse: path,
    otherwise: "clients need no certificate",
    help: "Certificates of authorities in PEM: only clients with a certificate of one of them may connect, and they need a token as well.",
  },
  dataDir: {
    variable: "MOORING_DATA_DIR",
    placeholder: "PATH",
    parse: path,
    default: "./data",
    help: "Folder of everything that is kept; made when it is missing.",
  },
  database: {
    variable: "MOORING_DATABASE_URL",
    placeholder: "URL",
    parse: database,
    show: showDatabase,
    otherwise: "`mooring.db` in the data folder",
    help: "The database: `sqlite:PATH`, `sqlite::memory:` for one that ends with the process, or `postgres://USER:PASSWORD@HOST:PORT/NAME` for one that several instances share.",
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
  shutdownGraceMs: {
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
  family: {
    variable: "MOORING_FAMILY",
    placeholder: "FAMILY",
    parse: choice("openlist", "alist", "all"),
    default: "openlist",
    help: "Whose drivers and settings are offered: those of today's `openlist`, of today's `alist`, or `all` of both.",
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
  mountsFile: {
    variable: "MOORING_MOUNTS_FILE",
    placeholder: "PATH",
    parse: path,
    help: "YAML or JSON file of mounts that are applied at each start and when it changes, and that clients can't change.",
  },
  historyRevisions: {
    variable: "MOORING_HISTORY_REVISIONS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 10_000_000 }),
    default: "10000",
    help: "How many revisions of the settings the history keeps at most.",
  },
  historyAgeMs: {
    variable: "MOORING_HISTORY_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "365d",
    help: "How long the history keeps a revision: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  auditRows: {
    variable: "MOORING_AUDIT_ROWS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000_000 }),
    default: "500000",
    help: "How many rows the audit keeps at most.",
  },
  auditAgeMs: {
    variable: "MOORING_AUDIT_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "400d",
    help: "How long the audit keeps a row: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  endedTokenAgeMs: {
    variable: "MOORING_ENDED_TOKEN_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "90d",
    help: "How long a token that has ended stays in the lists, counted while the service runs: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  secretKeys: {
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
  bodyTimeoutMs: {
    variable: "MOORING_BODY_TIMEOUT",
    placeholder: "DURATION",
    parse: duration({ shortest: "1ms", longest: "1h" }),
    default: "30s",
    help: "How long the body of a request may take to arrive: a number with `ms`, `s`, `m`, `h` or `d`, at most `1h`.",
  },
  maxStreams: {
    variable: "MOORING_MAX_STREAMS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "256",
    help: "How many calls one HTTP/2 connection may have open at a time.",
  },
  maxConnections: {
    variable: "MOORING_MAX_CONNECTIONS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "10000",
    help: "How many connections a process accepts at a time; one more is closed at once. As many requests are passed to MOORING_UPSTREAM at a time; one more is answered 503.",
  },
  maxConnectionsPerPeer: {
    variable: "MOORING_MAX_CONNECTIONS_PER_PEER",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "1000",
    help: "How many connections a process accepts at a time from one IP address, and requests that it passes on.",
  },
  maxBuffered: {
    variable: "MOORING_MAX_BUFFERED",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "64GiB" }),
    default: "64MiB",
    help: "How much of requests that are still arriving a process holds in memory, all together: a number with `B`, `KiB`, `MiB` or `GiB`.",
  },
  maxBody: {
    variable: "MOORING_MAX_BODY",
    placeholder: "SIZE",
    parse: byteCount({ least: "4KiB", most: "1GiB" }),
    default: "8MiB",
    help: "The largest body of a request, after decompression: a number with `B`, `KiB`, `MiB` or `GiB`.",
  },
  maxValue: {
    variable: "MOORING_MAX_VALUE",
    placeholder: "SIZE",
    parse: byteCount({ least: "1KiB", most: "16MiB" }),
    default: "1MiB",
    help: "The largest value of a setting, in UTF-8: a number with `B`, `KiB` or `MiB`, at most `16MiB`.",
  },
  maxCustomSettings: {
    variable: "MOORING_MAX_CUSTOM_SETTINGS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 0, max: 1_000_000 }),
    default: "2000",
    help: "How many settings that the program does not know there may be. A change that adds more is refused; what is stored already stays.",
  },
  maxSettings: {
    variable: "MOORING_MAX_SETTINGS",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "8MiB",
    help: "How much all settings may come to together, keys and values in UTF-8: a number with `B`, `KiB`, `MiB` or `GiB`. A change beyond it is refused.",
  },
  maxPublicSettings: {
    variable: "MOORING_MAX_PUBLIC_SETTINGS",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "2MiB",
    help: "The same for the settings that are read without a token.",
  },
  maxHeaders: {
    variable: "MOORING_MAX_HEADERS",
    placeholder: "SIZE",
    parse: byteCount({ least: "8KiB", most: "1MiB" }),
    default: "64KiB",
    help: "The most that the headers of a request may come to: a number with `B`, `KiB` or `MiB`, `8KiB` to `1MiB`.",
  },
  streamBuffer: {
    variable: "MOORING_STREAM_BUFFER",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "4MiB",
    help: "How much may wait for one watcher that reads too slowly before its stream is ended: a number with `B`, `KiB`, `MiB` or `GiB`.",
  },
  streamBufferTotal: {
    variable: "MOORING_STREAM_BUFFER_TOTAL",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "64GiB" }),
    default: "64MiB",
    help: "How much may wait for all slow watchers of a process together; beyond it the slowest are ended.",
  },
  reflection: {
    variable: "MOORING_REFLECTION",
    placeholder: "MODE",
    parse: choice("on", "token", "off"),
    default: "on",
    help: "Who may ask for the contract by server reflection: `on` (everybody), `token` (who has the admin token) or `off` (nobody).",
  },
  trustedProxies: {
    variable: "MOORING_TRUSTED_PROXIES",
    placeholder: "ADDRESSES",
    parse: proxyList,
    otherwise: "none",
    help: "Proxies that say by `Forwarded` or `X-Forwarded-For` who asks: IP addresses and networks such as `127.0.0.1,10.0.0.0/8`, and `unix` for whoever connects to a Unix socket. From anybody else these headers mean nothing.",
  },
  wrongTokens: {
    variable: "MOORING_WRONG_TOKENS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 0, max: 1_000_000 }),
    default: "10",
    help: "How many wrong tokens a minute one client (an IPv4 address, or a /64 network of IPv6) may send before it is told to wait; twice as many at once, and a hundred times as many from all together. Right tokens never wait. `0` is no limit.",
  },
  socketMode: {
    variable: "MOORING_SOCKET_MODE",
    placeholder: "MODE",
    parse: fileMode,
    default: "0600",
    help: "Who may connect to a Unix socket, as an octal file mode: `0600` is the service's user alone, `0660` its group as well, `0666` everybody.",
  },
  integrityCheck: {
    variable: "MOORING_INTEGRITY_CHECK",
    placeholder: "MODE",
    parse: choice("auto", "always", "off"),
    default: "auto",
    help: "When a start checks every page of the database: `auto` (after a stop that was not clean), `always` or `off`.",
  },
  upstream: {
    variable: "MOORING_UPSTREAM",
    placeholder: "URL",
    parse: serverUrl,
    show: showServerUrl,
    otherwise: "none",
    help: "A running OpenList or AList to stand in front of, such as `http://127.0.0.1:5245`: every path that is not Mooring's goes there, it gets every change of the settings, and its admins may change them. Mooring's own pages stand below `/@mooring/` then.",
  },
  upstreamToken: {
    variable: "MOORING_UPSTREAM_TOKEN",
    placeholder: "TOKEN",
    parse: otherToken,
    secret: true,
    otherwise: "learned from the first admin who comes by",
    help: "The permanent token of that server, from its settings.",
  },
  upstreamTokenFile: {
    variable: "MOORING_UPSTREAM_TOKEN_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File to read that token from, instead of `MOORING_UPSTREAM_TOKEN`.",
  },
  probeIntervalMs: {
    variable: "MOORING_PROBE_INTERVAL",
    placeholder: "DURATION",
    parse: probeInterval,
    default: "0s",
    help: "How often each mount of a site is listed at its provider to find out whether it still works: `15m` to `24h`, half of it more or less by chance; `0s` is never. Without it, incidents come from the sites' own lists, which keep `work` while listings fail.",
  },
  webhookTargets: {
    variable: "MOORING_WEBHOOK_TARGETS",
    placeholder: "MODE",
    parse: choice("public", "any"),
    default: "public",
    help: "Where notifications may go: `public` addresses alone, or `any`, which includes loopback and private networks.",
  },
  console: {
    variable: "MOORING_CONSOLE",
    placeholder: "MODE",
    parse: choice("on", "off"),
    default: "on",
    help: "Whether the console, the page for browsers, is served at `/console/`: `on` or `off`.",
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

type ValueOf<D> = D extends { parse(...args: never): Parsed<infer T> }
  ? D extends { default: string }
    ? T
    : T | undefined
  : never;

/** Values of the parsers; undefined without a value and a default. */
export type Values = { readonly [N in ConfigName]: ValueOf<(typeof definitions)[N]> };
