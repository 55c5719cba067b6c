import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { nearest } from "../suggestion.ts";
import { type Address, formatAddress } from "../transport/listen.ts";
import type { BackupPlace, Keep } from "./backup.ts";
import { quote } from "./complaint.ts";
import { type Database, inMemory } from "./database.ts";
import {
  type ConfigName,
  type Definition,
  definitionList,
  definitions,
  flagOf,
  type Values,
} from "./definition.ts";
import { type CommandLine, type Flag, readCommandLine } from "./flag.ts";
import { type ReadFile, readSecret, type Sourced } from "./secret.ts";
import type { Origins, ParseContext, Parsed } from "./value.ts";

/** An environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The whole configuration, checked and frozen. Paths are absolute, durations in milliseconds. */
export interface Config {
  readonly listen: Address;
  /** Undefined: gRPC shares the address of `listen`. */
  readonly grpcListen: Address | undefined;
  /** Undefined: the port does not use TLS. */
  readonly tls:
    | {
        readonly certificate: string;
        readonly key: string;
        /** Undefined: clients need no certificate. */
        readonly clientAuthorities: string | undefined;
      }
    | undefined;
  readonly dataDir: string;
  readonly database: Database;
  /** Token of a database without one; undefined: generate one. Secret. */
  readonly adminToken: string | undefined;
  readonly httpStatus: "envelope" | "code";
  readonly corsOrigins: Origins;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  readonly logFormat: "auto" | "json" | "pretty";
  /** Undefined: no metrics. */
  readonly metricsListen: Address | undefined;
  readonly shutdownGraceMs: number;
  readonly driversDir: string | undefined;
  /** Family whose drivers and settings are offered. */
  readonly family: "openlist" | "alist" | "all";
  /** Undefined: all drivers. The names are not compared with the catalogue here. */
  readonly driversEnabled: readonly string[] | undefined;
  /** Path of the file that declares the whole site. */
  readonly stateFile: string | undefined;
  readonly settingsFile: string | undefined;
  /** Path of the file with declared mounts. */
  readonly mountsFile: string | undefined;
  readonly historyRevisions: number;
  readonly historyAgeMs: number;
  readonly auditRows: number;
  readonly auditAgeMs: number;
  /** Retention of an ended token, in milliseconds. */
  readonly endedTokenAgeMs: number;
  /** The first key encrypts, all keys decrypt; empty: secrets are stored in the clear. */
  readonly secretKeys: readonly KeyObject[];
  /** Time limit from the headers of a request to the end of its body. */
  readonly bodyTimeoutMs: number;
  /** Limit of one HTTP/2 connection. */
  readonly maxStreams: number;
  /** Limit of one process, as all following limits. */
  readonly maxConnections: number;
  readonly maxConnectionsPerPeer: number;
  /** Bytes, as all sizes that follow. */
  readonly maxBuffered: number;
  readonly maxBody: number;
  readonly maxValue: number;
  readonly maxCustomSettings: number;
  readonly maxSettings: number;
  readonly maxPublicSettings: number;
  readonly maxHeaders: number;
  readonly streamBuffer: number;
  readonly streamBufferTotal: number;
  readonly reflection: "on" | "token" | "off";
  /** IP addresses, networks and `unix`; empty: no proxy is trusted. */
  readonly trustedProxies: readonly string[];
  /** Per minute and client; 0: no limit. */
  readonly wrongTokens: number;
  /** Permission bits, such as 0o660. */
  readonly socketMode: number;
  readonly integrityCheck: "auto" | "always" | "off";
  /** Address of the upstream; its path is the prefix of what it serves. */
  readonly upstream: string | undefined;
  /** Its permanent token. Secret. */
  readonly upstreamToken: string | undefined;
  /** Milliseconds between two listings of a mount at its provider; 0: none. */
  readonly probeIntervalMs: number;
  /** Permitted targets of notifications. */
  readonly webhookTargets: "public" | "any";
  /** Place of backups; undefined: none are kept. */
  readonly backupDir: BackupPlace | undefined;
  /** Cron expression; undefined: backups are made by calls only. */
  readonly backupSchedule: string | undefined;
  readonly backupKeep: Keep;
  /** Secret. */
  readonly backupPassphrase: string | undefined;
  /** Access key id of S3, or user of WebDAV. */
  readonly backupUser: string | undefined;
  /** Secret access key of S3, or password of WebDAV. Secret. */
  readonly backupPassword: string | undefined;
  readonly backupS3Endpoint: string | undefined;
  readonly backupS3Region: string;
  readonly console: "on" | "off";
  /** Sources that may show the console in frames; empty: none. */
  readonly consoleFrameAncestors: readonly string[];
  readonly workers: number;
}

/** Input of `parseConfig`. */
export interface ConfigInput extends ParseContext {
  /** The command line after `mooring serve`. */
  readonly args: readonly string[];
  readonly env: Environment;
  readonly readFile: ReadFile;
  /** `MOORING_` variables of other commands, which are ignored here. */
  readonly otherVariables?: readonly string[];
}

/** Configuration, or its problems in one line each. */
export type ConfigResult =
  | { readonly kind: "config"; readonly config: Config }
  | { readonly kind: "problems"; readonly problems: readonly [string, ...string[]] }
  | { readonly kind: "help" }
  | { readonly kind: "version" };

/**
 * Reads the configuration from flags and variables. A flag overrides the variable of its name,
 * whose value is then ignored. Never throws; reports all problems at once, without secrets.
 * `--help` and `--version` come before any problem.
 */
export function parseConfig(input: ConfigInput): ConfigResult {
  const { args, env, otherVariables = [] } = input;
  // Takes precedence over all problems, including missing values.
  if (args.includes("--help") || args.includes("-h")) return { kind: "help" };
  if (args.includes("--version")) return { kind: "version" };
  const line = readCommandLine(args, flags, { positionals: false });
  const texts = readTexts(line, env);
  const fileProblems = readSecretFiles(texts, input);
  const { values, problems } = parseTexts(texts, input);
  const [first, ...more] = [
    ...line.problems,
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

const flags: Readonly<Record<string, Flag>> = {
  ...Object.fromEntries(
    definitionList.map((definition) => [
      flagOf(definition).slice("--".length),
      { value: definition.placeholder },
    ]),
  ),
  help: { short: "h" },
  version: {},
};

/** Texts to parse, by the name of their definition, without defaults. */
type Texts = Map<ConfigName, Sourced>;

const configNames = Object.keys(definitions) as readonly ConfigName[];

/** Given values, by flag or else by variable. An empty variable counts as unset. */
function readTexts({ values }: CommandLine, env: Environment): Texts {
  const texts: Texts = new Map();
  for (const name of configNames) {
    const { variable } = definitions[name];
    const flag = flagOf(definitions[name]);
    const given = values.get(flag.slice("--".length));
    // White space around a value is usually unintended, such as a CR at the end of a line.
    const text = (given ?? env[variable] ?? "").trim();
    if (text !== "") texts.set(name, { source: given === undefined ? variable : flag, text });
  }
  return texts;
}

/** Secrets that can be read from a file. */
const secretFiles = [
  ["adminToken", "adminTokenFile"],
  ["secretKeys", "secretKeyFile"],
  ["upstreamToken", "upstreamTokenFile"],
  ["backupPassphrase", "backupPassphraseFile"],
  ["backupPassword", "backupPasswordFile"],
] as const;

/** Replaces each named secret file by its content. @returns problems. */
function readSecretFiles(texts: Texts, input: ConfigInput): string[] {
  const problems: string[] = [];
  for (const [name, fileName] of secretFiles) {
    const secret = readSecret({ direct: texts.get(name), file: texts.get(fileName) }, input);
    texts.delete(fileName);
    if (secret === undefined) continue;
    if ("problem" in secret) problems.push(secret.problem);
    else texts.set(name, secret);
  }
  return problems;
}

/** Parses the given value or the default of every definition; each problem is one line. */
function parseTexts(texts: Texts, context: ParseContext) {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const name of configNames) {
    const definition: Definition = definitions[name];
    const { source, text } = texts.get(name) ?? {
      source: definition.variable,
      text: definition.default,
    };
    if (text === undefined) continue;
    const parsed = parseText(text, definition, context);
    if ("value" in parsed) values[name] = parsed.value;
    else problems.push(`${source}${shown(text, definition)} ${parsed.complaint}`);
  }
  // Each value comes from the parser of its own definition.
  return { values: values as Partial<Values>, problems };
}

/** Maximum length of a value; the limit of Linux for one variable is about twice as large. */
const MAX_LENGTH = 65_536;

function parseText(text: string, { parse }: Definition, context: ParseContext): Parsed<unknown> {
  return text.length > MAX_LENGTH
    ? { complaint: `is longer than ${MAX_LENGTH} characters` }
    : parse(text, context);
}

function shown(text: string, { secret, show }: Definition): string {
  return secret ? "" : ` ${quote(show === undefined ? text : show(text))}`;
}

function configOf({
  adminTokenFile,
  secretKeyFile,
  upstreamTokenFile,
  backupPassphraseFile,
  backupPasswordFile,
  tlsCertificate,
  tlsKey,
  tlsClientAuthorities,
  ...values
}: Values): Config {
  const config: Config = {
    ...values,
    tls:
      tlsCertificate === undefined || tlsKey === undefined
        ? undefined
        : { certificate: tlsCertificate, key: tlsKey, clientAuthorities: tlsClientAuthorities },
    database: values.database ?? {
      dialect: "sqlite",
      filename: join(values.dataDir, "mooring.db"),
    },
    secretKeys: values.secretKeys ?? [],
    trustedProxies: values.trustedProxies ?? [],
  };
  for (const value of Object.values(config)) {
    Object.freeze(value);
  }
  return Object.freeze(config);
}

/** Problems of values that are valid by themselves but conflict. */
function contradictions({
  listen,
  grpcListen,
  database,
  workers = 1,
  tlsCertificate,
  tlsKey,
  tlsClientAuthorities,
  stateFile,
  settingsFile,
  mountsFile,
  ...sizes
}: Partial<Values>): string[] {
  const problems: string[] = [];
  for (const [name, file] of Object.entries({ settingsFile, mountsFile }))
    if (stateFile !== undefined && file !== undefined)
      problems.push(
        `MOORING_STATE_FILE and ${definitions[name as ConfigName].variable} are both set: move the content of the latter to the former, and omit it`,
      );
  if ((tlsCertificate === undefined) !== (tlsKey === undefined))
    problems.push("MOORING_TLS_CERT_FILE and MOORING_TLS_KEY_FILE go together: give both");
  else if (tlsClientAuthorities !== undefined && tlsCertificate === undefined)
    problems.push(
      "MOORING_TLS_CLIENT_CA_FILE needs MOORING_TLS_CERT_FILE: without it there is no TLS",
    );
  else if (tlsCertificate !== undefined && [listen, grpcListen].some((at) => at && "path" in at))
    problems.push(
      "MOORING_TLS_CERT_FILE requires a port, and a Unix socket has no TLS: omit one of them",
    );
  const address = listen === undefined ? "" : formatAddress(listen);
  // Two sockets with port 0 get different ports.
  if (
    grpcListen !== undefined &&
    formatAddress(grpcListen) === address &&
    !address.endsWith(":0")
  ) {
    problems.push(
      `MOORING_GRPC_LISTEN and MOORING_LISTEN are both ${quote(address)}: omit the former, ` +
        "and gRPC shares the port",
    );
  }
  if (database?.dialect === "sqlite" && database.filename === inMemory && workers > 1) {
    problems.push(
      `MOORING_WORKERS is ${workers}, but MOORING_DATABASE_URL is in memory, which processes ` +
        "cannot share: use one worker or a file",
    );
  }
  const { maxBody = 0, maxBuffered = Number.POSITIVE_INFINITY } = sizes;
  if (maxBody > maxBuffered / 2)
    problems.push(
      `MOORING_MAX_BODY (${maxBody} bytes) is larger than half of MOORING_MAX_BUFFERED ` +
        `(${maxBuffered} bytes), which one client may hold: such a body would always be refused`,
    );
  problems.push(...backupProblems(sizes));
  for (const [smaller, larger] of nestedSizes) {
    if ((sizes[smaller] ?? 0) > (sizes[larger] ?? Number.POSITIVE_INFINITY)) {
      const names = [smaller, larger].map((name) => definitions[name].variable);
      problems.push(`${names.join(" is larger than ")}, which is its upper limit`);
    }
  }
  return problems;
}

/** Minimum length of a passphrase that seals, in characters. */
const MIN_PASSPHRASE = 8;

function backupProblems({
  backupDir,
  backupSchedule,
  backupPassphrase,
  backupUser,
  backupPassword,
}: Partial<Values>): string[] {
  const problems: string[] = [];
  if (backupSchedule !== undefined && backupDir === undefined)
    problems.push("MOORING_BACKUP_SCHEDULE needs MOORING_BACKUP_DIR, the place of the backups");
  if (backupSchedule !== undefined && backupPassphrase === undefined)
    problems.push(
      "MOORING_BACKUP_SCHEDULE needs MOORING_BACKUP_PASSPHRASE_FILE, a file with the passphrase that seals the secrets",
    );
  if (backupPassphrase !== undefined && [...backupPassphrase].length < MIN_PASSPHRASE)
    problems.push(
      `MOORING_BACKUP_PASSPHRASE (or the content of MOORING_BACKUP_PASSPHRASE_FILE) has fewer than ${MIN_PASSPHRASE} characters`,
    );
  if (backupDir?.kind === "s3" && (backupUser === undefined || backupPassword === undefined))
    problems.push(
      "MOORING_BACKUP_DIR in S3 needs MOORING_BACKUP_USER and MOORING_BACKUP_PASSWORD_FILE, the access key",
    );
  if ((backupUser === undefined) !== (backupPassword === undefined) && backupDir?.kind !== "s3")
    problems.push("MOORING_BACKUP_USER and MOORING_BACKUP_PASSWORD_FILE go together: give both");
  return problems;
}

/** Pairs of sizes; the first one must not exceed the second one. */
const nestedSizes = [
  ["maxValue", "maxBody"],
  ["streamBuffer", "streamBufferTotal"],
] as const;

const PREFIX = "MOORING_";

/**
 * One problem for each unknown variable that begins with `MOORING_`, except those in `others` (of
 * other commands) and those set by a cluster. The value is not shown: it may be a secret with a
 * misspelt name.
 */
function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  others: readonly string[],
): string[] {
  const known = [...definitionList.map(({ variable }): string => variable), ...others];
  return Object.entries(env)
    .filter(([name]) => name.startsWith(PREFIX) && !known.includes(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ""))
    .map(([name]) => {
      // The common prefix would make all names similar.
      const parts = known.map((one) => one.slice(PREFIX.length));
      const [similar] = nearest(name.slice(PREFIX.length), parts);
      const question = similar === undefined ? ":" : `: did you mean ${PREFIX}${similar}?`;
      return `unknown variable ${quote(name)}${question} --help lists all`;
    });
}

/**
 * Reports whether a variable was set by a cluster. Kubernetes puts the address of each service into
 * the environment of every pod of its namespace, under the service's name in capitals (documented
 * there under "Discovering services"): one called `mooring` or `mooring-grpc` brings
 * MOORING_SERVICE_HOST, MOORING_PORT, MOORING_GRPC_PORT_5244_TCP_ADDR and so on.
 */
function isServiceLink(name: string, value: string): boolean {
  // A configured port is a number; that of a cluster is a URL such as tcp://10.0.0.7:5244.
  if (/_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value)) return true;
  return /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$/.test(name);
}
