import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { quote } from "../config/complaint.ts";
import { type Flag, readCommandLine } from "../config/flag.ts";
import { durationMs } from "../config/value.ts";
import { usage } from "./failure.ts";

/** A flag of one or more commands. */
interface FlagDefinition extends Flag {
  /** Description in one line without a full stop. */
  readonly help: string;
}

/** The one table of all flags: reading, help and documentation come from it. */
export const flags = {
  address: { value: "ADDRESS", help: "HOST:PORT, unix:PATH or https://HOST[:PORT]" },
  token: { value: "TOKEN", help: "Token; visible in the process list, unlike a file" },
  "token-file": { value: "PATH", help: "File with the token" },
  timeout: { value: "DURATION", help: "Time limit for an answer; default 10s" },
  database: { value: "DB", help: "Open this database (PATH or URL) without a service" },
  json: { help: "Print JSON instead of text" },
  help: { short: "h", help: "Show this text" },

  all: { help: "Also equal settings, ended tokens or closed incidents" },
  after: { value: "PLACE", help: "Start after this etag (watch) or row of the audit" },
  "as-file": { help: "Write a file that declares the site, for apply" },
  "accept-loss": { help: "Exit with 0 although something is not kept" },
  "allow-shared-credential": { help: "Allow several sites to share a credential" },
  actor: { value: "NAME", help: "Only changes by this actor" },
  chat: { value: "CHAT", help: "Telegram: number of the chat, or @CHANNEL" },
  classes: {
    value: "LIST",
    help: "Classes of incidents: credential,person; -unknown; all",
  },
  "ca-file": { value: "PATH", help: "PEM file with the authority of the site's certificate" },
  comment: { value: "TEXT", help: "Purpose of a token; comment of an acknowledgement" },
  checkpoint: { value: "PATH", help: "File with an earlier checkpoint; - is standard input" },
  changed: { help: "Only settings whose value is not the default" },
  "content-type": { value: "TYPE", help: "Content-Type of a template's body" },
  "connect-downloaders": { help: "Make the site connect its download managers" },
  date: { value: "DATE", help: "Only incidents that were open on this day in UTC" },
  days: { help: "Also the last 30 days of each" },
  disabled: { value: "MODE", help: "Whether the webhook is disabled: true or false" },
  "dry-run": { help: "Show the changes without making them" },
  expires: {
    value: "WHEN",
    help: "Expiry of the token: 30d, 2027-01-31 or never; default 90d",
  },
  "expect-etag": { value: "ETAG", help: "Only if no setting has changed since the read with it" },
  failed: { help: "Only what has failed in the last 30 days" },
  follow: { help: "Continue with new rows until Ctrl-C" },
  force: { help: "Replace an existing file" },
  format: {
    value: "FORMAT",
    help: "standard, ntfy, telegram, discord, slack, bark or template",
  },
  from: { value: "DB", help: "Copy this database" },
  "from-file": { value: "PATH", help: "Read the value from a file; - is standard input" },
  group: { value: "GROUPS", help: "Only these groups, by number or name, such as site,5" },
  "headers-file": { value: "PATH", help: "File with headers of requests, one a line" },
  "http-method": { value: "METHOD", help: "POST (default), PUT or PATCH" },
  key: { value: "KEY", help: "Only changes of this setting" },
  kind: { value: "KIND", help: "Kind of the principal: program (default) or person" },
  language: { value: "CODE", help: "Language of messages: en (default) or zh-CN" },
  limits: { value: "LIST", help: "Only these records: key:s3_*,group:9,mount:/a/*,rule:/a/*" },
  limit: { value: "N", short: "n", help: "Maximum number of results" },
  mount: { value: "NAME", help: "Only changes of this mount" },
  method: { value: "RPCS", help: "Only these calls, such as SaveSettings,push" },
  new: { help: "Create a custom setting if the key does not exist" },
  only: {
    value: "NAME",
    repeats: true,
    help: "Only settings, mounts, a KEY or a mount, or a part",
  },
  outcome: { value: "CODES", help: "Only with these outcomes, such as PERMISSION_DENIED" },
  output: { value: "PATH", help: "Write to this file instead of printing" },
  overlap: {
    value: "DURATION",
    help: "Time that the old token stays valid; default 24h, 0: none",
  },
  "password-file": {
    value: "PATH",
    help: "File with the password of all new users; - is standard input",
  },
  "passwords-file": {
    value: "PATH",
    help: "File with lines NAME:PASSWORD; - is standard input",
  },
  "passphrase-file": { value: "PATH", help: "File with the passphrase" },
  "pause-sites": { help: "Create sites paused: nothing is written to their servers" },
  print: { help: "Print the address without starting a browser" },
  "random-passwords": { help: "Give each new user a random password, printed once" },
  reason: { value: "TEXT", help: "Reason for the history" },
  reveal: { help: "Show the values of secret settings and items" },
  scopes: { value: "LIST", help: "Rights of the token, such as settings:read,history:read" },
  "secret-file": { value: "PATH", help: "File with the key of the signatures" },
  "service-token-file": {
    value: "PATH",
    help: "File with a bot token, device key or access token",
  },
  "secrets-dir": { value: "DIR", help: "Write the files of secrets to this folder" },
  secrets: { value: "MODE", help: "omit (default), seal with a passphrase, or clear" },
  site: { value: "NAMES", help: "Only these sites; list accepts one site; import: OLD=NEW" },
  "site-token-file": { value: "PATH", help: "File with the site's token; - is standard input" },
  since: { value: "TIME", help: "Start time: 2h, 7d, 2026-11-20 or 2026-11-20T09:30" },
  "include-server-own": { help: "Also the values token, version and index_progress" },
  "replace-secrets": {
    help: "Replace stored secrets by those of the file",
  },
  "skip-invalid": { help: "Skip invalid values instead of refusing all" },
  subject: { value: "GLOB", help: "Only with a subject that matches, such as s3_*" },
  table: { value: "NAME", help: "Table with the settings or storages in a database" },
  "template-file": { value: "PATH", help: "File with the Mustache template of the body" },
  to: {
    value: "DB",
    repeats: true,
    help: "Empty database, or NAME=URL of a new server",
  },
  "token-id": { value: "ID", help: "Only calls with the token of this id" },
  until: { value: "TIME", help: "End time, exclusive; as --since" },
  update: { value: "NAME", repeats: true, help: "Existing user that is replaced" },
  "url-file": { value: "PATH", help: "File with the address; - is standard input" },
  yes: { short: "y", help: "Do not ask for confirmation" },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof flags;

/** Flags with a value. */
type ValueFlag = {
  [N in FlagName]: (typeof flags)[N] extends { value: string } ? N : never;
}[FlagName];

/** Flags that may be given several times. */
type ListFlag = {
  [N in FlagName]: (typeof flags)[N] extends { repeats: true } ? N : never;
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
  text(name: Exclude<ValueFlag, ListFlag>): string | undefined;
  /** The texts of a flag that repeats. */
  texts(name: ListFlag): readonly string[];
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
  const { values, lists, positionals, problems } = readCommandLine(
    args,
    Object.fromEntries(known.map((name): [string, FlagDefinition] => [name, flags[name]])),
    { positionals: true },
  );
  const [first, ...more] = problems;
  if (first !== undefined) throw usage(first, more);
  return {
    positionals,
    is: (name) => values.has(name),
    has: (name) => values.has(name) || lists.has(name),
    text: (name) => values.get(name),
    texts: (name) => lists.get(name) ?? [],
  };
}

/** Parses a revision. @throws CliFailure (usage). */
export function revisionNumber(text: string, what: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw usage(`${what} ${quote(text)} is not the number of a revision, such as 12`);
}

/**
 * Items of a list with commas; none if it is absent.
 *
 * @throws CliFailure (usage) for a list without items, such as `,`: no items would often mean all.
 */
export function listItems(text: string | undefined, what: string): string[] {
  if (text === undefined) return [];
  const items = text.split(",").flatMap((item) => item.trim() || []);
  if (items.length > 0) return items;
  throw usage(`${what} ${quote(text)} has no items: write them separated by commas`);
}

/** @throws CliFailure (usage) for a name that several of the arguments `NAME=VALUE` or `NAME` have. */
export function refuseRepeated(given: readonly string[]): void {
  const names = given.map((text) => text.replace(/=.*$/s, ""));
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated !== undefined) throw usage(`${quote(repeated)} is given more than once`);
}

/** Parses a count from 1 to `max`. @throws CliFailure (usage). */
export function count(text: string, what: string, max: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= max) return number;
  throw usage(`${what} ${quote(text)} is not a whole number from 1 to ${max}`);
}

const DAY = 86_400_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * Parses a time to milliseconds since 1970 UTC: a duration before now (`90s`, `2h`, `7d`, `2w`), a
 * date (its start), or a date and time. The default time zone is that of this machine.
 *
 * @throws CliFailure (usage).
 */
export function pointInTime(text: string, what: string, now: number): number {
  const [, days, unit] = /^(\d{1,5})([dw])$/.exec(text) ?? [];
  const ago = days === undefined ? durationMs(text) : Number(days) * DAY * (unit === "w" ? 7 : 1);
  if (ago !== undefined) return now - ago;
  // A date alone would be read as UTC.
  const time = DATE.test(text) ? Date.parse(`${text}T00:00`) : parseDateTime(text);
  if (!Number.isNaN(time)) return time;
  throw usage(
    `${what} ${quote(text)} is not a time: write 2h or 7d for a time ago, 2026-11-20, or 2026-11-20T09:30`,
  );
}

function parseDateTime(text: string): number {
  return DATE_TIME.test(text) ? Date.parse(text.replace(" ", "T")) : Number.NaN;
}

/** `2026-11-20 09:30:00` in this machine's time zone. */
export function localTime(ms: number): string {
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day} ${time}`;
}

/** Expiry as text: `until 2026-11-20 09:30:00`, or `never expires`. */
export function untilText(end: Timestamp | undefined): string {
  return end === undefined ? "never expires" : `until ${localTime(timestampMs(end))}`;
}

/** `1 setting differs`, `2 settings differ`. */
export function countedDiffers(number: number, noun: string): string {
  return `${counted(number, noun)} ${number === 1 ? "differs" : "differ"}`;
}

/** `1 setting`, `2 settings`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
