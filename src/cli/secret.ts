import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { quote, reasonOf } from "../config/complaint.ts";
import { readSecret as readGiven, type Sourced } from "../config/secret.ts";
import type { Arguments } from "./argument.ts";
import { CliFailure, EXIT, usage } from "./failure.ts";
import { askHidden, canAsk } from "./prompt.ts";
import type { World } from "./world.ts";

/**
 * Token of the service, from a flag or else a variable.
 *
 * @throws CliFailure when there is none, or the file cannot be read.
 */
export function readToken(args: Arguments, world: World): Sourced {
  const { MOORING_TOKEN, MOORING_TOKEN_FILE } = world.env;
  const flags = [
    given("--token", args.text("token")),
    given("--token-file", args.text("token-file")),
  ] as const;
  const variables = [
    given("MOORING_TOKEN", MOORING_TOKEN),
    given("MOORING_TOKEN_FILE", MOORING_TOKEN_FILE),
  ] as const;
  const [direct, file] = flags.some((flag) => flag !== undefined) ? flags : variables;
  const token = readSecret(direct, file, world);
  if (token === undefined)
    throw new CliFailure(
      EXIT.unauthenticated,
      "no token: give its file with --token-file or MOORING_TOKEN_FILE, or set MOORING_TOKEN",
    );
  if (!/^[\x20-\x7e]+$/.test(token.text))
    throw usage(`${token.source} contains a character that is not allowed in a token`);
  return token;
}

/** Client certificate with its key, in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads the client certificate of MOORING_CLIENT_CERT_FILE and MOORING_CLIENT_KEY_FILE; undefined
 * without these variables.
 *
 * @throws CliFailure (usage) when only one is given, or a file can't be read.
 */
export function readClientCertificate(world: World): ClientCertificate | undefined {
  const { MOORING_CLIENT_CERT_FILE, MOORING_CLIENT_KEY_FILE } = world.env;
  const cert = given("MOORING_CLIENT_CERT_FILE", MOORING_CLIENT_CERT_FILE);
  const key = given("MOORING_CLIENT_KEY_FILE", MOORING_CLIENT_KEY_FILE);
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw usage("MOORING_CLIENT_CERT_FILE and MOORING_CLIENT_KEY_FILE must be set together");
  const read = ({ source, text }: Sourced): string => {
    try {
      return readFileText(resolve(world.cwd, text));
    } catch (error) {
      throw usage(`${source} ${quote(text)} can't be read: ${reasonOf(error)}`);
    }
  };
  return { cert: read(cert), key: read(key) };
}

/**
 * Passphrase from `--passphrase-file` or else MOORING_PASSPHRASE; undefined when neither is given.
 */
export function givenPassphrase(args: Arguments, world: World): string | undefined {
  const { MOORING_PASSPHRASE } = world.env;
  const file = given("--passphrase-file", args.text("passphrase-file"));
  const direct = file ? undefined : given("MOORING_PASSPHRASE", MOORING_PASSPHRASE);
  return readSecret(direct, file, world)?.text;
}

/** Asks for the passphrase of a sealed document; undefined without a terminal. */
export async function askPassphrase(world: World): Promise<string | undefined> {
  if (!canAsk(world)) return undefined;
  const answer = (await askHidden(world, "Passphrase of the backup")).trim();
  return answer === "" ? undefined : answer;
}

/**
 * Passphrase for sealing: given, or typed twice.
 *
 * @throws CliFailure (usage) when there is none, or the two typed ones differ.
 */
export async function newPassphrase(args: Arguments, world: World): Promise<string> {
  const passphrase = givenPassphrase(args, world);
  if (passphrase !== undefined) return passphrase;
  if (!canAsk(world))
    throw usage(
      "sealing the secrets needs a passphrase: name a file with --passphrase-file, or set MOORING_PASSPHRASE",
    );
  const typed = (await askHidden(world, "Passphrase for the backup")).trim();
  const again = (await askHidden(world, "Repeat the passphrase")).trim();
  if (typed !== again) throw usage("the passphrases differ; nothing was written");
  return typed;
}

/** White space around a secret is removed; an empty variable counts as unset. */
function given(source: string, text = ""): Sourced | undefined {
  return text.trim() === "" ? undefined : { source, text: text.trim() };
}

/** Explanation for an empty file. */
const EMPTIED =
  "a shell redirection empties the file before the command can read it: use mooring token reset --output PATH";

function readSecret(
  direct: Sourced | undefined,
  file: Sourced | undefined,
  { cwd }: World,
): Sourced | undefined {
  const secret = readGiven({ direct, file }, { cwd, parallelism: 1, readFile: readFileText });
  if (secret !== undefined && "problem" in secret)
    throw usage(secret.problem, secret.problem.endsWith(" is empty") ? [EMPTIED] : []);
  return secret;
}

/** Reads a whole file in UTF-8. */
export function readFileText(path: string): string {
  return readFileSync(path, "utf8");
}
