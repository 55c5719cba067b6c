import { type Flag, readCommandLine } from "../config/flag.ts";
import { usage } from "./failure.ts";

/** A flag of one or more commands. */
interface FlagDefinition extends Flag {
  /** Description in one line without a full stop. */
  readonly help: string;
}

/** The one table of all flags: reading, help and documentation come from it. */
export const flags = {
  address: { value: "ADDRESS", help: "HOST:PORT, unix:PATH or https://HOST[:PORT]" },
  token: { value: "TOKEN", help: "Admin token; a process list shows it, a file does not" },
  "token-file": { value: "PATH", help: "File with the admin token" },
  timeout: { value: "DURATION", help: "How long to wait for an answer, 10s unless given" },
  database: { value: "DB", help: "Work on this database (PATH or a URL), no service" },
  json: { help: "Print JSON in place of text for people" },
  help: { short: "h", help: "Show this text" },

  all: { help: "Also settings that are the same; also tokens that have ended" },
  after: { value: "N", help: "Begin after this revision, or this row of the audit" },
  "allow-shared-credential": { help: "Also where several sites share a credential" },
  actor: { value: "NAME", help: "Only changes by this actor" },
  classes: { value: "LIST", help: "Only these classes of incidents: credential,person; or all" },
  "ca-file": { value: "PATH", help: "PEM file with the authority of the site's certificate" },
  comment: { value: "TEXT", help: "What the token is for" },
  checkpoint: { value: "PATH", help: "A checkpoint of before; - is standard input" },
  changed: { help: "Only settings whose value is not the default" },
  "connect-downloaders": { help: "Also have the site connect its download managers" },
  disabled: { value: "MODE", help: "Whether nothing is sent: true or false" },
  "dry-run": { help: "Change nothing, show what would change" },
  expires: {
    value: "WHEN",
    help: "When the token ends: 30d, 2027-01-31 or never; 90d unless given",
  },
  "expect-revision": { value: "N", help: "Only if nothing at all has changed since revision N" },
  follow: { help: "Go on with what is written from now on, until Ctrl-C" },
  force: { help: "Replace a file that exists" },
  from: { value: "DB", help: "Copy this database" },
  "from-file": { value: "PATH", help: "Read the value from a file; - is standard input" },
  group: { value: "GROUPS", help: "Only these groups, by number or name, such as site,5" },
  key: { value: "KEY", help: "Only changes of this setting" },
  kind: { value: "KIND", help: "What the principal is: program (as without it) or person" },
  language: { value: "CODE", help: "Language of messages: en (as without it) or zh-CN" },
  limits: { value: "LIST", help: "Only these settings: key:s3_*,group:9" },
  limit: { value: "N", short: "n", help: "At most N; of revisions and rows 20 unless given" },
  method: { value: "RPCS", help: "Only these calls, such as SaveSettings,push" },
  new: { help: "Make a custom setting where there is none of that key" },
  outcome: { value: "CODES", help: "Only with these outcomes, such as PERMISSION_DENIED" },
  output: { value: "PATH", help: "Write to this file in place of printing it" },
  overlap: {
    value: "DURATION",
    help: "How long the old token goes on, 24h unless given; 0: not at all",
  },
  "passphrase-file": { value: "PATH", help: "File with the passphrase" },
  print: { help: "Print the address only, start no browser" },
  reason: { value: "TEXT", help: "Why, for the history" },
  reveal: { help: "Show the values of secret settings and items" },
  scopes: { value: "LIST", help: "What the token may do, such as settings:read,history:read" },
  "secret-file": { value: "PATH", help: "File with the key of the signatures" },
  secrets: { value: "MODE", help: "omit (as without it), seal with a passphrase, or clear" },
  site: { value: "NAMES", help: "Only of these sites; of list one site" },
  "site-token-file": { value: "PATH", help: "File with the site's token; - is standard input" },
  since: { value: "TIME", help: "Not older: 2h, 7d, 2026-11-20 or 2026-11-20T09:30" },
  "skip-invalid": { help: "Leave out wrong values in place of refusing all" },
  subject: { value: "GLOB", help: "Only about a name that fits, such as s3_*" },
  table: { value: "NAME", help: "Which table of a database holds the settings" },
  to: { value: "DB", help: "Copy into this one, which has to be empty" },
  "token-id": { value: "ID", help: "Only with the token of this id" },
  until: { value: "TIME", help: "Older than this; as --since" },
  "url-file": { value: "PATH", help: "File with the address; - is standard input" },
  yes: { short: "y", help: "Do it without asking" },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof flags;

/** Flags with a value. */
type ValueFlag = {
  [N in FlagName]: (typeof flags)[N] extends { value: string } ? N : never;
}[FlagName];

/** Flags without a value. */
type SwitchFlag = Exclude<FlagName, ValueFlag>;

/** Flags of every command: location of the settings and form of the output. */
export const sharedFlags = [
  "address",
  "token",
  "token-file",
  "timeout",
  "database",
  "json",
  "help",
] as const satisfies readonly FlagName[];

/** `--limit N, -n N` */
export function flagSynopsis(name: FlagName): string {
  const { value, short }: FlagDefinition = flags[name];
  const tail = value === undefined ? "" : ` ${value}`;
  return short === undefined ? `--${name}${tail}` : `--${name}${tail}, -${short}${tail}`;
}

/** Arguments of a command. */
export interface Arguments {
  readonly positionals: readonly string[];
  /** Reports whether a switch is given. */
  is(name: SwitchFlag): boolean;
  /** Reports whether any flag is given. */
  has(name: FlagName): boolean;
  /** The text of a flag; undefined when it is not given. Never empty. */
  text(name: ValueFlag): string | undefined;
}

/** Maximum number of arguments of a command line; a shell's own limit is far above. */
const MAX_ARGUMENTS = 4_096;

/**
 * Reads flags and positional arguments in any order. Everything after `--` is positional.
 *
 * @param known accepted flags of the command.
 * @throws CliFailure (usage) with all problems at once; none repeats a value, which may be
 *   secret.
 */
export function readArguments(args: readonly string[], known: readonly FlagName[]): Arguments {
  if (args.length > MAX_ARGUMENTS) throw usage(`more than ${MAX_ARGUMENTS} arguments`);
  const { values, positionals, problems } = readCommandLine(
    args,
    Object.fromEntries(known.map((name): [string, FlagDefinition] => [name, flags[name]])),
    { positionals: true },
  );
  const [first, ...more] = problems;
  if (first !== undefined) throw usage(first, more);
  return {
    positionals,
    is: (name) => values.has(name),
    has: (name) => values.has(name),
    text: (name) => values.get(name),
  };
}
