import { statSync } from "node:fs";
import { address as parseAddress } from "../config/address.ts";
import { parseConfig } from "../config/config.ts";
import { duration } from "../config/duration.ts";
import { quote } from "../config/quote.ts";
import type { Parsed, ParseContext } from "../config/value.ts";
import type { Arguments } from "./argument.ts";
import type { Caller } from "./caller.ts";
import { CliFailure, usage } from "./failure.ts";
import { EXIT } from "./exit-code.ts";
import { readFileText, readSecret, type Secret } from "./secret.ts";
import type { World } from "./world.ts";

/** The service's address unless something else is said: that of a service with no configuration. */
const DEFAULT_ADDRESS = "127.0.0.1:5244";
const DEFAULT_TIMEOUT = "10s";

/** Variables of the service that say how a database is read, and so count with `--database`. */
const DATABASE_VARIABLES = ["MOORING_SECRET_KEY", "MOORING_SECRET_KEY_FILE", "MOORING_SETTINGS_FILE"];

/** What a command is connected to; the texts are for messages. */
export interface Connection {
  readonly caller: Caller;
  /** Address of the service, or path of the database. */
  readonly place: string;
  /** `service`: over gRPC; `database`: opened here. */
  readonly kind: "service" | "database";
  /** Where the token comes from, such as `MOORING_TOKEN_FILE "/run/token"`; never the token. */
  readonly tokenSource: string;
  /** Of a call, as somebody would write it. */
  readonly timeout: string;
}

/**
 * Reads where the settings are from flags and variables, a flag before its variable, and gets ready
 * to call there.
 *
 * @throws CliFailure for a wrong value, a missing token or a database that can't be opened.
 */
export async function openConnection(args: Arguments, world: World): Promise<Connection> {
  const timeout = args.text("timeout") ?? DEFAULT_TIMEOUT;
  const timeoutMs = checked("--timeout", timeout, duration({ longest: "1h" })(timeout, context(world)));
  if (timeoutMs === 0) throw usage("--timeout is 0, which no answer can keep");
  if (args.text("database") !== undefined) return openDatabase(args, world, timeout);
  const place = readAddress(args, world);
  const secret = readToken(args, world);
  const { createGrpcCaller } = await import("./grpc-caller.ts");
  const caller = createGrpcCaller({ ...place, token: secret.text, timeoutMs });
  return { caller, place: place.shown, kind: "service", tokenSource: secret.source, timeout };
}

function context({ cwd }: World): ParseContext {
  return { cwd, parallelism: 1 };
}

function checked<T>(source: string, text: string, parsed: Parsed<T>): T {
  if ("complaint" in parsed) throw usage(`${source} ${quote(text)} ${parsed.complaint}`);
  return parsed.value;
}

function readAddress(args: Arguments, world: World) {
  const flag = args.text("address")?.trim();
  const variable = world.env["MOORING_ADDRESS"]?.trim();
  const text = flag || variable || DEFAULT_ADDRESS;
  const source = flag ? "--address" : "MOORING_ADDRESS";
  const url = /^https?:\/\//i.test(text) ? readUrl(source, text) : undefined;
  if (url !== undefined) return url;
  const at = checked(source, text, parseAddress(text, context(world)));
  if ("path" in at) return { target: `unix:${at.path}`, secure: false, shown: text };
  if (at.port === 0) throw usage(`${source} ${quote(text)} has port 0, where nothing can be called`);
  // An empty host is all interfaces for who listens; this machine for who calls.
  const host = at.host === "" ? "127.0.0.1" : at.host;
  const target = host.includes(":") ? `ipv6:[${host}]:${at.port}` : `dns:${host}:${at.port}`;
  return { target, secure: false, shown: text };
}

function readUrl(source: string, text: string) {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || url.href !== `${url.origin}/`)
    throw usage(`${source} is no address of a service: write it as https://HOST or https://HOST:PORT`);
  const secure = url.protocol === "https:";
  const port = url.port === "" ? (secure ? 443 : 80) : url.port;
  return { target: `dns:${url.hostname}:${port}`, secure, shown: url.origin };
}

function readToken(args: Arguments, world: World): Secret {
  const secret = readSecret(
    {
      direct: ["--token", args.text("token")],
      file: ["--token-file", args.text("token-file")],
    },
    {
      direct: ["MOORING_TOKEN", world.env["MOORING_TOKEN"]],
      file: ["MOORING_TOKEN_FILE", world.env["MOORING_TOKEN_FILE"]],
    },
    world,
  );
  if (secret === undefined)
    throw new CliFailure(
      EXIT.unauthenticated,
      "there is no token: name the file it stands in with --token-file or MOORING_TOKEN_FILE, or set MOORING_TOKEN",
    );
  if (!/^[\x20-\x7e]+$/.test(secret.text))
    throw usage(`${secret.source} has a character that no token has: is it the right one?`);
  return secret;
}

async function openDatabase(args: Arguments, world: World, timeout: string): Promise<Connection> {
  const text = args.text("database") ?? "";
  const url = /^\w+:/.test(text) ? text : `sqlite:${text}`;
  const result = parseConfig({
    args: [`--database-url=${url}`],
    env: Object.fromEntries(DATABASE_VARIABLES.map((name) => [name, world.env[name]])),
    ...context(world),
    readFile: readFileText,
  });
  if (result.kind !== "config") {
    const problems = result.kind === "problems" ? result.problems : ["--database is wrong"];
    const [first, ...more] = problems.map((line) => line.replace("--database-url", "--database"));
    throw usage(first ?? "", more);
  }
  const { filename } = result.config.database;
  // Opening it would make a new one.
  if (statSync(filename, { throwIfNoEntry: false })?.isFile() !== true)
    throw new CliFailure(EXIT.notFound, `there is no database file ${quote(filename)}`);
  const offline = await world.openOffline(result.config);
  const { createOfflineCaller } = await import("./offline-caller.ts");
  return {
    caller: createOfflineCaller(offline),
    place: filename,
    kind: "database",
    tokenSource: "",
    timeout,
  };
}
