import { statSync } from "node:fs";
import { connect, isIP } from "node:net";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { address as parseAddress } from "../config/address.ts";
import { quote } from "../config/complaint.ts";
import { type Config, parseConfig } from "../config/config.ts";
import { type Database, databaseName } from "../config/database.ts";
import { duration, type ParseContext } from "../config/value.ts";
import { formatAddress } from "../transport/listen.ts";
import type { Arguments } from "./argument.ts";
import { CliFailure, EXIT, usage } from "./failure.ts";
import {
  type ClientCertificate,
  readClientCertificate,
  readFileText,
  readToken,
} from "./secret.ts";
import type { World } from "./world.ts";

const DEFAULT_TIMEOUT = "10s";

/** Variables of the service that also apply to a database of `--database`. */
const DATABASE_VARIABLES = [
  "MOORING_DRIVERS_DIR",
  "MOORING_DRIVERS_ENABLED",
  "MOORING_FAMILY",
  "MOORING_MAX_BODY",
  "MOORING_MAX_BUFFERED",
  "MOORING_MAX_CUSTOM_SETTINGS",
  "MOORING_MAX_PUBLIC_SETTINGS",
  "MOORING_MAX_SETTINGS",
  "MOORING_MAX_VALUE",
  "MOORING_MOUNTS_FILE",
  "MOORING_SECRET_KEY",
  "MOORING_SECRET_KEY_FILE",
  "MOORING_SETTINGS_FILE",
  "MOORING_STATE_FILE",
];

export type SettingClient = Client<typeof SettingService>;

/** Connection of a command, with descriptions for messages. */
export interface Connection {
  readonly settings: SettingClient;
  /** Transport for clients of other services of the contract. */
  readonly transport: Transport;
  /** Address of the service, or path of the database. */
  readonly place: string;
  /** Source of the token, such as `MOORING_TOKEN_FILE "/run/token"`; never the token. */
  readonly tokenSource: string;
  /** The last call to a service. */
  readonly lastCall: LastCall | undefined;
  /** Whether the command runs without a service: this process opens the database. */
  readonly offline: boolean;
  close(): Promise<void>;
}

/** A call, for the explanation of its failure. */
interface LastCall {
  /** Whether it changes nothing. */
  readonly isRead: boolean;
  /** Its time limit, such as `10 s`. */
  readonly limit: string;
}

/**
 * Reads the location of the settings from flags and variables, where a flag overrides its variable.
 * The connection to a service opens at the first call.
 *
 * @param options.anonymous the command needs no token, and none is read.
 * @throws CliFailure for an invalid value, a missing token or a missing database; Error with a
 *   message for the operator when the database can't be used.
 */
export async function openConnection(
  args: Arguments,
  world: World,
  { anonymous = false } = {},
): Promise<Connection> {
  const timeout = args.text("timeout") ?? DEFAULT_TIMEOUT;
  const timeoutMs = readTimeout(timeout, world);
  const database = args.text("database");
  if (database !== undefined) return openDatabase(database, args, world);
  const at = readServiceAddress(args.text("address"), { world, anonymous });
  const token = anonymous ? NO_TOKEN : readToken(args, world);
  const certificate = at.url.startsWith("https:") ? readClientCertificate(world) : undefined;
  let lastCall: LastCall | undefined;
  const { transport, close } = await openTransport(at, {
    token: token.text,
    timeoutMs,
    certificate,
    onCall: (call) => {
      lastCall = call;
    },
  });
  const settings = createClient(SettingService, transport);
  const { place } = at;
  return {
    settings,
    transport,
    place,
    tokenSource: token.source,
    get lastCall() {
      return lastCall;
    },
    offline: false,
    close,
  };
}

/** Credentials of a command that needs no token. */
const NO_TOKEN = { source: "", text: "" };

function context({ cwd }: Pick<World, "cwd">): ParseContext {
  return { cwd, parallelism: 1 };
}

function readTimeout(text: string, world: World): number {
  const parsed = duration({ longest: "1h" })(text, context(world));
  if ("complaint" in parsed) throw usage(`--timeout ${quote(text)} ${parsed.complaint}`);
  if (parsed.value === 0) throw usage("--timeout must be more than 0");
  return parsed.value;
}

/**
 * Maximum size of a reply in bytes: 10,000 settings of a few kilobytes. Larger replies are not
 * read.
 */
const MAX_REPLY = 64 * 1024 * 1024;

/** gRPC over one HTTP/2 connection. TLS trusts the authorities that Node trusts. */
async function openTransport(
  { url, socket, isUnnamed = false }: ServiceAddress,
  options: {
    readonly token: string;
    readonly timeoutMs: number;
    readonly certificate: ClientCertificate | undefined;
    readonly onCall: (call: LastCall) => void;
  },
): Promise<{ readonly transport: Transport; close(): Promise<void> }> {
  // Imported on demand: `--database` does not need it.
  const { createGrpcTransport, Http2SessionManager } = await import("@connectrpc/connect-node");
  const sessionManager = new Http2SessionManager(
    url,
    // Pings detect a lost connection during a watch.
    { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 },
    socket === undefined
      ? { ...options.certificate, ...(isUnnamed ? { rejectUnauthorized: false } : {}) }
      : { createConnection: () => connect(socket) },
  );
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager,
    interceptors: [
      withHeaders({ authorization: options.token, "user-agent": "mooring-cli" }),
      noteCalls(options.onCall),
    ],
    defaultTimeoutMs: options.timeoutMs,
    readMaxBytes: MAX_REPLY,
  });
  return {
    transport,
    close: async () => {
      // An idle connection must not keep the process alive. A failing connection is left alone: the
      // manager would remove its listener before the error is emitted.
      if (sessionManager.state() === "connecting") sessionManager.abort();
    },
  };
}

function withHeaders(headers: Readonly<Record<string, string>>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
}

function noteCalls(onCall: (call: LastCall) => void): Interceptor {
  return (next) => (request) => {
    // The time limit in milliseconds (gRPC over HTTP/2, Timeout).
    const ms = Number.parseInt(request.header.get("grpc-timeout") ?? "", 10);
    const isDry = !request.stream && "dryRun" in request.message && request.message.dryRun === true;
    const { idempotency } = request.method;
    onCall({
      isRead: isDry || idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
      limit: ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`,
    });
    return next(request);
  };
}

async function openDatabase(database: string, args: Arguments, world: World): Promise<Connection> {
  const foreign = (["address", "token", "token-file"] as const).find((name) => args.text(name));
  if (foreign !== undefined)
    throw usage(
      `--${foreign} concerns a service, and --database works without one: omit one of them`,
    );
  const config = readDatabaseConfig(database, world);
  const place = databaseName(config.database);
  checkIsThere(config.database);
  const { transport, close } = await world.openOffline(config);
  const settings = createClient(SettingService, transport);
  return { settings, transport, place, tokenSource: "", lastCall: undefined, offline: true, close };
}

/** Fails for a missing SQLite file, which an open would create. @throws CliFailure. */
export function checkIsThere(database: Database): void {
  if (database.dialect !== "sqlite") return;
  const { filename } = database;
  if (statSync(filename, { throwIfNoEntry: false })?.isFile() !== true)
    throw new CliFailure(EXIT.notFound, `there is no database file ${quote(filename)}`);
}

/** @param flag name of the text's flag. @throws CliFailure (usage). */
export function readDatabaseConfig(text: string, world: World, flag = "--database"): Config {
  const url = /^\w{2,}:/.test(text) ? text : `sqlite:${text}`;
  const result = parseConfig({
    args: [`--database-url=${url}`],
    env: Object.fromEntries(DATABASE_VARIABLES.map((name) => [name, world.env[name]])),
    ...context(world),
    readFile: readFileText,
  });
  if (result.kind === "config") return result.config;
  const problems = result.kind === "problems" ? result.problems : [];
  const [first = `${flag} is wrong`, ...more] = problems.map((line) =>
    line.replace("--database-url", flag),
  );
  throw usage(first, more);
}

/** Default address: that of a service without configuration. */
const DEFAULT_ADDRESS = "127.0.0.1:5244";

/** Variables of the service for its gRPC address, in order of precedence. */
const LISTEN_VARIABLES = ["MOORING_GRPC_LISTEN", "MOORING_LISTEN"] as const;

/** Address of a service. */
interface ServiceAddress {
  /** Scheme, host and port; for a socket, those of this machine. */
  readonly url: string;
  /** Path of a Unix socket. */
  readonly socket?: string;
  /** The address as given, for messages. */
  readonly place: string;
  /** Whether the host name of its certificate is unknown, so that it cannot be verified. */
  readonly isUnnamed?: boolean;
}

/** Context for reading an address. */
export interface AddressContext {
  readonly world: Pick<World, "env" | "cwd">;
  /** Whether the command sends no secret. */
  readonly anonymous: boolean;
}

/**
 * Reads the address of the service: the flag `--address`, else MOORING_ADDRESS, else the service's
 * own listening variables, else the default. Notations of the first two: `HOST:PORT`,
 * `[IPV6]:PORT`, `:PORT` (this machine), `unix:PATH`, `https://HOST[:PORT]` (TLS) or
 * `http://HOST[:PORT]`.
 *
 * @throws CliFailure (usage).
 */
export function readServiceAddress(
  flag: string | undefined,
  context: AddressContext,
): ServiceAddress {
  const { world } = context;
  const given = flag?.trim();
  if (given) return readAddress(given, "--address", context);
  const { MOORING_ADDRESS } = world.env;
  const address = MOORING_ADDRESS?.trim();
  if (address) return readAddress(address, "MOORING_ADDRESS", context);
  const variable = LISTEN_VARIABLES.find((name) => world.env[name]?.trim());
  const text = variable === undefined ? DEFAULT_ADDRESS : (world.env[variable]?.trim() ?? "");
  return withTls(readAddress(text, variable ?? "MOORING_ADDRESS", context), context);
}

function readAddress(text: string, source: string, { world }: AddressContext): ServiceAddress {
  if (/^https?:\/\//i.test(text)) return readUrl(text, source);
  const at = parseAddress(text, { cwd: world.cwd, parallelism: 1 });
  if ("complaint" in at) throw usage(`${source} ${quote(text)} ${at.complaint}`);
  if ("path" in at.value) return { url: "http://localhost", socket: at.value.path, place: text };
  const { host, port } = at.value;
  if (port === 0) throw usage(`${source} ${quote(text)} has port 0, which cannot be called`);
  return { url: `http://${formatAddress({ host: hostToCall(host), port })}`, place: text };
}

/** Converts a listening host to one to call: a wildcard address becomes this machine. */
function hostToCall(host: string): string {
  if (host === "" || host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

function readUrl(text: string, source: string): ServiceAddress {
  const url = URL.parse(text);
  // The message does not repeat other parts, such as a password.
  if (url === null || url.href !== `${url.origin}/`)
    throw usage(
      `${source} is not an address of a service: write https://HOST or https://HOST:PORT, without a path`,
    );
  // TLS sends the host name (RFC 6066, section 3), which can't be an IP address.
  if (url.protocol === "https:" && isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0)
    throw usage(
      `${source} has an IP address after https://: write the host name of its certificate`,
    );
  return { url: url.origin, place: url.origin };
}

/**
 * Uses TLS for the client when these variables configure it for the service. They do not contain
 * the host name of its certificate, so only a command that sends no secret may use them.
 *
 * @throws CliFailure (usage).
 */
function withTls(at: ServiceAddress, { world, anonymous }: AddressContext): ServiceAddress {
  const certificate = world.env["MOORING_TLS_CERT_FILE"]?.trim();
  if (at.socket !== undefined || !certificate) return at;
  if (!anonymous)
    throw usage(
      "these variables enable TLS (MOORING_TLS_CERT_FILE): set MOORING_ADDRESS to https://NAME:PORT with the name of the certificate",
    );
  return { ...at, url: at.url.replace("http:", "https:"), isUnnamed: true };
}
