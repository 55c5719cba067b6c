// Passwords of users that a copy creates.
import { quote } from "../config/complaint.ts";
import { counted } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import { nameOf, readText, readValue } from "./file.ts";
import { askHidden, canAsk } from "./prompt.ts";
import type { World } from "./world.ts";

/** Passwords in the request. */
export interface NewPasswords {
  /** Of every user that `passwords` does not have; empty: none. */
  readonly password: string;
  readonly passwords: Readonly<Record<string, string>>;
  readonly randomPasswords: boolean;
}

export const NO_PASSWORDS: NewPasswords = { password: "", passwords: {}, randomPasswords: false };

/** Maximum size of a file with passwords, in bytes. */
const FILE_LIMIT = 1_048_576;

/** The passwords of the flags; undefined: none is given. @throws CliFailure (usage). */
export async function givenPasswords({
  args,
  world,
}: CommandRun): Promise<NewPasswords | undefined> {
  const one = args.text("password-file");
  const each = args.text("passwords-file");
  const randomPasswords = args.is("random-passwords");
  if (one !== undefined && randomPasswords)
    throw usage("--password-file and --random-passwords exclude each other");
  if (one === "-" && each === "-") throw usage("only one file can be standard input");
  if (one === undefined && each === undefined && !randomPasswords) return undefined;
  return {
    password: one === undefined ? "" : await passwordFrom(one, world),
    passwords: each === undefined ? {} : readLines(await linesFrom(each, world), each),
    randomPasswords,
  };
}

async function passwordFrom(path: string, world: World): Promise<string> {
  const password = (await readValue(path, world)).trim();
  if (password === "") throw usage(`${nameOf(path)} has no password`);
  return password;
}

async function linesFrom(path: string, world: World): Promise<string[]> {
  return (await readText({ path, limit: FILE_LIMIT }, world)).split(/\r?\n/);
}

/** Reads lines NAME:PASSWORD. Messages never contain a password. */
function readLines(lines: readonly string[], path: string): Record<string, string> {
  const passwords = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim();
    const password = line.slice(colon + 1).trim();
    const where = `line ${at + 1} of ${nameOf(path)}`;
    if (name === "" || password === "") throw usage(`${where} is not NAME:PASSWORD`);
    if (passwords.has(name)) throw usage(`${where} has a second password of ${quote(name)}`);
    passwords.set(name, password);
  }
  return Object.fromEntries(passwords);
}

/**
 * Asks for one password of all new users.
 *
 * @throws CliFailure (usage) without a terminal, and when the two typed ones differ.
 */
export async function askNewPasswords(world: World, users: number): Promise<NewPasswords> {
  if (!canAsk(world))
    throw usage(
      "the new users need a password: give --password-file, --passwords-file or --random-passwords",
    );
  const whose = users === 1 ? "the new user" : `all ${counted(users, "new user")}`;
  const typed = (await askHidden(world, `Password of ${whose}; empty: random ones`)).trim();
  if (typed === "") return { ...NO_PASSWORDS, randomPasswords: true };
  const again = (await askHidden(world, "Repeat the password")).trim();
  if (typed !== again) throw usage("the passwords differ; nothing was changed");
  return { ...NO_PASSWORDS, password: typed };
}
