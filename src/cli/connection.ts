import { statSync } from "node:fs";
import { parseConfig } from "../config/config.ts";
import { duration } from "../config/duration.ts";
import { quote } from "../config/quote.ts";
import type { ParseContext } from "../config/value.ts";
import type { Arguments } from "./argument.ts";
import type { Caller } from "./caller.ts";
import { EXIT } from "./exit-code.ts";
import { CliFailure, usage } from "./failure.ts";
import { readFileText, readSecret, type Secret } from "./secret.ts";
import { readServiceAddress } from "./service-address.ts";
import type { World } from "./world.ts";

const DEFAULT_TIMEOUT = "10s";

/** Variables of the service that say how a database is read, and so count with `--database`. */
const DATABASE_VARIABLES = [
  "MOORING_SECRET_KEY",
  "MOORING_SECRET_KEY_FILE",
  "MOORING_SETTINGS_FILE",
];

/** What a command is connected to; the texts are for messages. */
export interface Connection {
  readonly caller: Caller;
  /** Address of the service, or path of the database. */
  readonly place: string;
  /** Where the token comes from, such as `MOORING_TOKEN_FILE "/run/token"`; never the token. */
  readonly tokenSource: string;
  /** How long a call may take, as somebody would write it. */
  readonly timeout: string;
}

/**
 * Reads where the settings are from flags and variables, a flag before its variable, and gets ready
 * to call there.
 *
 * @throws CliFailure for a wrong value, a missing token or a missing database; Error with a sentence
 * when the database can't be used.
 */
export async function openConnection(args: Arguments, world: World): Promise<Connection> {
  const timeout = args.text("timeout") ?? DEFAULT_TIMEOUT;
  const timeoutMs = readTimeout(timeout, world);
  if (args.text("database") !== undefined) return openDatabase(args, world, timeout);
  const { MOORING_ADDRESS } = world.env;
  const { place, ...address } = readServiceAddress(
    { flag: args.text("address"), variable: MOORING_ADDRESS },
    world.cwd,
  );
  const secret = readToken(args, world);
  const { createGrpcCaller } = await import("./grpc-caller.ts");
  const caller = createGrpcCaller({ ...address, token: secret.text, timeoutMs });
  return { caller, place, tokenSource: secret.source, timeout };
}

function context({ cwd }: World): ParseContext {
  return { cwd, parallelism: 1 };
}

function readTimeout(text: string, world: World): number {
  const parsed = duration({ longest: "1h" })(text, context(world));
  if ("complaint" in parsed) throw usage(`--timeout ${quote(text)} ${parsed.complaint}`);
  if (parsed.value === 0) throw usage("--timeout is 0, which no answer can keep");
  return parsed.value;
}

function readToken(args: Arguments, world: World): Secret {
  const { MOORING_TOKEN, MOORING_TOKEN_FILE } = world.env;
  const secret = readSecret(
    { direct: ["--token", args.text("token")], file: ["--token-file", args.text("token-file")] },
    { direct: ["MOORING_TOKEN", MOORING_TOKEN], file: ["MOORING_TOKEN_FILE", MOORING_TOKEN_FILE] },
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
  const foreign = (["address", "token", "token-file"] as const).find((name) => args.text(name));
  if (foreign !== undefined)
    throw usage(`--${foreign} is of a service, and --database works without one: leave one out`);
  const config = readDatabaseConfig(args.text("database") ?? "", world);
  const { filename } = config.database;
  // Opening it would make a new one.
  if (statSync(filename, { throwIfNoEntry: false })?.isFile() !== true)
    throw new CliFailure(EXIT.notFound, `there is no database file ${quote(filename)}`);
  const offline = await world.openOffline(config);
  const { createOfflineCaller } = await import("./offline-caller.ts");
  return { caller: createOfflineCaller(offline), place: filename, tokenSource: "", timeout };
}

function readDatabaseConfig(text: string, world: World) {
  const url = /^\w{2,}:/.test(text) ? text : `sqlite:${text}`;
  const result = parseConfig({
    args: [`--database-url=${url}`],
    env: Object.fromEntries(DATABASE_VARIABLES.map((name) => [name, world.env[name]])),
    ...context(world),
    readFile: readFileText,
  });
  if (result.kind === "config") return result.config;
  const problems = result.kind === "problems" ? result.problems : [];
  const [first = "--database is wrong", ...more] = problems.map((line) =>
    line.replace("--database-url", "--database"),
  );
  throw usage(first, more);
}
