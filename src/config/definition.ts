// Longer than other files: one table for the parser, the help and the documentation.

import { address, proxyList, serverUrl } from "./address.ts";
import { backupPlace, keepCounts } from "./backup.ts";
import { database, showDatabase } from "./database.ts";
import { adminToken, anySecret, otherToken, secretKeys } from "./secret.ts";
import type { Parsed, Parser } from "./value.ts";
import {
  byteCount,
  choice,
  duration,
  fileMode,
  frameAncestors,
  nameList,
  origins,
  path,
  probeInterval,
  shortText,
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
  /** Sentence in Markdown with `code` as the only markup, which the terminal omits. */
  readonly help: string;
}

/** All configuration options, by their names in `Config`, in the order of the help. */
export const definitions = {
  listen: {
    variable: "MOORING_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    default: "127.0.0.1:5244",
    help: "Listen address of all transports: `HOST:PORT`, `[IPV6]:PORT`, `:PORT` for all interfaces, or `unix:PATH`; port 0 selects a free port.",
  },
  grpcListen: {
    variable: "MOORING_GRPC_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    otherwise: "gRPC shares the port",
    help: "Separate listen address for gRPC; the other transports use `MOORING_LISTEN`.",
  },
  tlsCertificate: {
    variable: "MOORING_TLS_CERT_FILE",
    placeholder: "PATH",
    parse: path,
    otherwise: "no TLS",
    help: "Certificate chain in PEM, the server certificate first; enables TLS for all transports. Read again when the file changes.",
  },
  tlsKey: {
    variable: "MOORING_TLS_KEY_FILE",
    placeholder: "PATH",
    parse: path,
    help: "Private key of the certificate in PEM, without a passphrase.",
  },
  tlsClientAuthorities: {
    variable: "MOORING_TLS_CLIENT_CA_FILE",
    placeholder: "PATH",
    parse: path,
    otherwise: "clients need no certificate",
    help: "Certificate authorities in PEM: clients must present a certificate of one of them, in addition to a token.",
  },
  dataDir: {
    variable: "MOORING_DATA_DIR",
    placeholder: "PATH",
    parse: path,
    default: "./data",
    help: "Data folder; created if missing.",
  },
  database: {
    variable: "MOORING_DATABASE_URL",
    placeholder: "URL",
    parse: database,
    show: showDatabase,
    otherwise: "`mooring.db` in the data folder",
    help: "Database: `sqlite:PATH`, `sqlite::memory:` (ends with the process), or `postgres://USER:PASSWORD@HOST:PORT/NAME` (shared by several instances).",
  },
  adminToken: {
    variable: "MOORING_ADMIN_TOKEN",
    placeholder: "TOKEN",
    parse: adminToken,
    secret: true,
    otherwise: "generated and printed at the first start",
    help: "Admin token for a new database, at least 32 characters; a stored token is kept.",
  },
  adminTokenFile: {
    variable: "MOORING_ADMIN_TOKEN_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File with the admin token, instead of `MOORING_ADMIN_TOKEN`.",
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
    default: "*",
    help: "Origins allowed by CORS: `*` for all, or a list such as `https://a.example,http://localhost:3000`.",
  },
  logLevel: {
    variable: "MOORING_LOG_LEVEL",
    placeholder: "LEVEL",
    parse: choice("fatal", "error", "warn", "info", "debug", "trace", "silent"),
    default: "info",
    help: "Lowest level that is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace`, or `silent` for none.",
  },
  logFormat: {
    variable: "MOORING_LOG_FORMAT",
    placeholder: "FORMAT",
    parse: choice("auto", "json", "pretty"),
    default: "auto",
    help: "Format of the log: `json`, `pretty`, or `auto` (`pretty` on a terminal, else `json`).",
  },
  metricsListen: {
    variable: "MOORING_METRICS_LISTEN",
    placeholder: "HOST:PORT",
    parse: address,
    otherwise: "no metrics",
    help: "Listen address for `GET /metrics` in Prometheus format, without a token.",
  },
  shutdownGraceMs: {
    variable: "MOORING_SHUTDOWN_GRACE",
    placeholder: "DURATION",
    parse: duration({ longest: "1h" }),
    default: "10s",
    help: "Time for running calls to finish when the service stops: a number with `ms`, `s`, `m`, `h` or `d`, at most `1h`.",
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
    help: "Server family whose drivers and settings are offered: `openlist`, `alist`, or `all`.",
  },
  driversEnabled: {
    variable: "MOORING_DRIVERS_ENABLED",
    placeholder: "NAMES",
    parse: nameList,
    otherwise: "all",
    help: "Names of the offered drivers, separated by commas.",
  },
  stateFile: {
    variable: "MOORING_STATE_FILE",
    placeholder: "PATH",
    parse: path,
    help: "YAML or JSON file that declares settings, mounts, folder rules, sites, webhooks and principals; applied at each start and when the file changes. Clients cannot change what it declares.",
  },
  settingsFile: {
    variable: "MOORING_SETTINGS_FILE",
    placeholder: "PATH",
    parse: path,
    help: "YAML or JSON file of settings, a part of `MOORING_STATE_FILE`, which replaces it.",
  },
  mountsFile: {
    variable: "MOORING_MOUNTS_FILE",
    placeholder: "PATH",
    parse: path,
    help: "YAML or JSON file of mounts, a part of `MOORING_STATE_FILE`, which replaces it.",
  },
  historyRevisions: {
    variable: "MOORING_HISTORY_REVISIONS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 10_000_000 }),
    default: "10000",
    help: "Maximum number of revisions in the history.",
  },
  historyAgeMs: {
    variable: "MOORING_HISTORY_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "365d",
    help: "Maximum age of revisions in the history: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  auditRows: {
    variable: "MOORING_AUDIT_ROWS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000_000 }),
    default: "500000",
    help: "Maximum number of rows in the audit.",
  },
  auditAgeMs: {
    variable: "MOORING_AUDIT_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "400d",
    help: "Maximum age of rows in the audit: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  endedTokenAgeMs: {
    variable: "MOORING_ENDED_TOKEN_AGE",
    placeholder: "DURATION",
    parse: duration({ longest: "36500d" }),
    default: "90d",
    help: "Time for which ended tokens (expired or revoked) stay in lists, counted while the service runs: a number with `ms`, `s`, `m`, `h` or `d`.",
  },
  secretKeys: {
    variable: "MOORING_SECRET_KEY",
    placeholder: "KEYS",
    parse: secretKeys,
    secret: true,
    otherwise: "secret settings are stored unencrypted",
    help: "Keys that encrypt secret settings in the database, separated by commas: 32 bytes each, in hexadecimal or base64. The first one encrypts, the others only decrypt.",
  },
  secretKeyFile: {
    variable: "MOORING_SECRET_KEY_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File with the keys, instead of `MOORING_SECRET_KEY`.",
  },
  bodyTimeoutMs: {
    variable: "MOORING_BODY_TIMEOUT",
    placeholder: "DURATION",
    parse: duration({ shortest: "1ms", longest: "1h" }),
    default: "30s",
    help: "Time limit for receiving the body of a request: a number with `ms`, `s`, `m`, `h` or `d`, at most `1h`.",
  },
  maxStreams: {
    variable: "MOORING_MAX_STREAMS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "256",
    help: "Maximum number of concurrent calls on one HTTP/2 connection.",
  },
  maxConnections: {
    variable: "MOORING_MAX_CONNECTIONS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "10000",
    help: "Maximum number of connections of a process; further ones are closed. Also the maximum number of concurrent requests to `MOORING_UPSTREAM`; further ones get 503.",
  },
  maxConnectionsPerPeer: {
    variable: "MOORING_MAX_CONNECTIONS_PER_PEER",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 1, max: 1_000_000 }),
    default: "1000",
    help: "Maximum number of connections from one IP address, and of its concurrent requests to `MOORING_UPSTREAM`, for each process.",
  },
  maxBuffered: {
    variable: "MOORING_MAX_BUFFERED",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "64GiB" }),
    default: "64MiB",
    help: "Memory for incomplete requests of a process, all together: a number with `B`, `KiB`, `MiB` or `GiB`. One address may hold half of it, and the tokens of one principal together three times as much as is free (three quarters alone), so that others are served.",
  },
  maxBody: {
    variable: "MOORING_MAX_BODY",
    placeholder: "SIZE",
    parse: byteCount({ least: "4KiB", most: "1GiB" }),
    default: "8MiB",
    help: "Maximum size of a request body after decompression: a number with `B`, `KiB`, `MiB` or `GiB`, at most half of `MOORING_MAX_BUFFERED`.",
  },
  maxValue: {
    variable: "MOORING_MAX_VALUE",
    placeholder: "SIZE",
    parse: byteCount({ least: "1KiB", most: "16MiB" }),
    default: "1MiB",
    help: "Maximum size of a setting's value in UTF-8: a number with `B`, `KiB` or `MiB`, at most `16MiB`.",
  },
  maxCustomSettings: {
    variable: "MOORING_MAX_CUSTOM_SETTINGS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 0, max: 1_000_000 }),
    default: "2000",
    help: "Maximum number of custom settings. A change that exceeds it is refused; stored settings are kept.",
  },
  maxSettings: {
    variable: "MOORING_MAX_SETTINGS",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "8MiB",
    help: "Maximum size of all settings together, keys and values in UTF-8: a number with `B`, `KiB`, `MiB` or `GiB`. A change that exceeds it is refused.",
  },
  maxPublicSettings: {
    variable: "MOORING_MAX_PUBLIC_SETTINGS",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "2MiB",
    help: "Maximum size of the settings that clients read without a token, in total.",
  },
  maxHeaders: {
    variable: "MOORING_MAX_HEADERS",
    placeholder: "SIZE",
    parse: byteCount({ least: "8KiB", most: "1MiB" }),
    default: "64KiB",
    help: "Maximum size of the headers of a request, `8KiB` to `1MiB`: a number with `B`, `KiB` or `MiB`.",
  },
  streamBuffer: {
    variable: "MOORING_STREAM_BUFFER",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "1GiB" }),
    default: "4MiB",
    help: "Buffered data of one slow watcher above which its stream is ended: a number with `B`, `KiB`, `MiB` or `GiB`.",
  },
  streamBufferTotal: {
    variable: "MOORING_STREAM_BUFFER_TOTAL",
    placeholder: "SIZE",
    parse: byteCount({ least: "64KiB", most: "64GiB" }),
    default: "64MiB",
    help: "Buffered data of all slow watchers of a process; above it the slowest streams are ended.",
  },
  reflection: {
    variable: "MOORING_REFLECTION",
    placeholder: "MODE",
    parse: choice("on", "token", "off"),
    default: "on",
    help: "Access to server reflection: `on` (all clients), `token` (clients with a valid token) or `off`.",
  },
  trustedProxies: {
    variable: "MOORING_TRUSTED_PROXIES",
    placeholder: "ADDRESSES",
    parse: proxyList,
    otherwise: "none",
    help: "Proxies whose `Forwarded` or `X-Forwarded-For` header names the client: IP addresses and networks such as `127.0.0.1,10.0.0.0/8`, and `unix` for connections to a Unix socket. These headers of other clients are ignored.",
  },
  wrongTokens: {
    variable: "MOORING_WRONG_TOKENS",
    placeholder: "COUNT",
    parse: wholeNumber({ min: 0, max: 1_000_000 }),
    default: "10",
    help: "Maximum number of wrong tokens per minute from one client (an IPv4 address or an IPv6 /64 network); twice as many in a burst, and a hundred times as many from all clients together. Valid tokens are not limited. `0` disables the limit.",
  },
  socketMode: {
    variable: "MOORING_SOCKET_MODE",
    placeholder: "MODE",
    parse: fileMode,
    default: "0600",
    help: "File mode of Unix sockets in octal: `0600` (user of the service), `0660` (also its group) or `0666` (all users).",
  },
  integrityCheck: {
    variable: "MOORING_INTEGRITY_CHECK",
    placeholder: "MODE",
    parse: choice("auto", "always", "off"),
    default: "auto",
    help: "Condition for a check of every database page at start: `auto` (after an unclean stop), `always` or `off`.",
  },
  upstream: {
    variable: "MOORING_UPSTREAM",
    placeholder: "URL",
    parse: serverUrl,
    otherwise: "none",
    help: "URL of the OpenList or AList server behind Mooring, such as `http://127.0.0.1:5245`. Mooring forwards paths that it does not serve to that server and writes every change of the settings to it; admins of that server may change settings. Mooring's own pages move below `/@mooring/`.",
  },
  upstreamToken: {
    variable: "MOORING_UPSTREAM_TOKEN",
    placeholder: "TOKEN",
    parse: otherToken,
    secret: true,
    otherwise: "read with the first login of an admin",
    help: "Permanent token of that server, from its settings.",
  },
  upstreamTokenFile: {
    variable: "MOORING_UPSTREAM_TOKEN_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File with that token, instead of `MOORING_UPSTREAM_TOKEN`.",
  },
  probeIntervalMs: {
    variable: "MOORING_PROBE_INTERVAL",
    placeholder: "DURATION",
    parse: probeInterval,
    default: "1h",
    help: "Interval in which each mount of a site is listed at its provider to check that it works: `15m` to `24h`, randomized by half; `0s` disables it. After an error of a credential a mount is not listed again until it is changed. Without listings, incidents are based only on the mount lists of the sites, whose status stays `work` while listings fail.",
  },
  webhookTargets: {
    variable: "MOORING_WEBHOOK_TARGETS",
    placeholder: "MODE",
    parse: choice("public", "any"),
    default: "public",
    help: "Allowed targets of webhooks: `public` addresses, or `any`, which includes loopback and private networks.",
  },
  backupDir: {
    variable: "MOORING_BACKUP_DIR",
    placeholder: "PLACE",
    parse: backupPlace,
    otherwise: "no backups are kept",
    help: "Place of backups: a folder, `s3://BUCKET/PREFIX`, or the `https://` address of a WebDAV folder.",
  },
  backupSchedule: {
    variable: "MOORING_BACKUP_SCHEDULE",
    placeholder: "CRON",
    parse: shortText,
    otherwise: "backups are made by calls only",
    help: "Times of backups as a cron expression, such as `30 3 * * *`, in the time zone of the service (`TZ`). One of several processes makes each backup; one that was missed is made at the start.",
  },
  backupKeep: {
    variable: "MOORING_BACKUP_KEEP",
    placeholder: "COUNTS",
    parse: keepCounts,
    default: "daily=7,weekly=4,monthly=12",
    help: "Numbers of kept backups: `last`, and the newest of each of the last `hourly`, `daily`, `weekly`, `monthly` and `yearly` periods. Older ones are removed after each backup.",
  },
  backupPassphrase: {
    variable: "MOORING_BACKUP_PASSPHRASE",
    placeholder: "TEXT",
    parse: anySecret,
    secret: true,
    help: "Passphrase that seals backups, at least 8 characters. Keep a copy elsewhere: without it no secret can be restored.",
  },
  backupPassphraseFile: {
    variable: "MOORING_BACKUP_PASSPHRASE_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File with that passphrase, instead of `MOORING_BACKUP_PASSPHRASE`. One of them is required for a schedule.",
  },
  backupUser: {
    variable: "MOORING_BACKUP_USER",
    placeholder: "NAME",
    parse: shortText,
    help: "Access key id of S3, or user of WebDAV.",
  },
  backupPassword: {
    variable: "MOORING_BACKUP_PASSWORD",
    placeholder: "TEXT",
    parse: anySecret,
    secret: true,
    help: "Secret access key of S3, or password of WebDAV.",
  },
  backupPasswordFile: {
    variable: "MOORING_BACKUP_PASSWORD_FILE",
    placeholder: "PATH",
    parse: path,
    help: "File with that key or password, instead of `MOORING_BACKUP_PASSWORD`.",
  },
  backupS3Endpoint: {
    variable: "MOORING_BACKUP_S3_ENDPOINT",
    placeholder: "URL",
    parse: serverUrl,
    otherwise: "that of AWS in the region",
    help: "Address of a server with the S3 protocol, such as `https://minio.example:9000`; buckets are the first part of its paths.",
  },
  backupS3Region: {
    variable: "MOORING_BACKUP_S3_REGION",
    placeholder: "NAME",
    parse: shortText,
    default: "us-east-1",
    help: "Region of S3.",
  },
  console: {
    variable: "MOORING_CONSOLE",
    placeholder: "MODE",
    parse: choice("on", "off"),
    default: "on",
    help: "Serves the console for browsers at `/console/`: `on` or `off`.",
  },
  consoleFrameAncestors: {
    variable: "MOORING_CONSOLE_FRAME_ANCESTORS",
    placeholder: "ORIGINS",
    parse: frameAncestors,
    default: "none",
    help: "Pages that may show the console in a frame: `none`, `self`, or origins such as `https://panel.example.org`.",
  },
  workers: {
    variable: "MOORING_WORKERS",
    placeholder: "COUNT",
    parse: workerCount,
    default: "1",
    help: "Number of worker processes, 1 to 128, or `auto` for one per processor core.",
  },
} as const satisfies Record<string, Definition>;

/** Name of a definition in the table above. */
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
