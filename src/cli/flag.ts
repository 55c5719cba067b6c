// The one table of all flags: reading, help and documentation come from it.

/** A flag of one or more commands. */
export interface FlagDefinition {
  /** What stands for the value in the help; absent: the flag is a switch. */
  readonly value?: string;
  /** One letter, for `-n`. */
  readonly short?: string;
  /** What it does, in one line without a full stop. */
  readonly help: string;
}

export const flags = {
  address: { value: "ADDRESS", help: "HOST:PORT, unix:PATH or https://HOST[:PORT]" },
  token: { value: "TOKEN", help: "Admin token; a process list shows it, a file does not" },
  "token-file": { value: "PATH", help: "File with the admin token" },
  timeout: { value: "DURATION", help: "How long to wait for an answer, 10s unless given" },
  database: { value: "DB", help: "Work on this database (PATH or sqlite:PATH), no service" },
  json: { help: "Print JSON in place of text for people" },
  help: { short: "h", help: "Show this text" },

  after: { value: "REVISION", help: "Begin with what changed after it, not with all settings" },
  actor: { value: "NAME", help: "Only changes by this actor" },
  changed: { help: "Only settings whose value is not the default" },
  "dry-run": { help: "Change nothing, show what would change" },
  "expect-revision": { value: "N", help: "Only if nothing at all has changed since revision N" },
  force: { help: "Replace a file that exists" },
  "from-file": { value: "PATH", help: "Read the value from a file; - is standard input" },
  group: { value: "GROUPS", help: "Only these groups, by number or name, such as site,5" },
  key: { value: "KEY", help: "Only changes of this setting" },
  limit: { value: "N", short: "n", help: "At most N revisions, 20 unless given" },
  new: { help: "Make a custom setting where there is none of that key" },
  "passphrase-file": { value: "PATH", help: "File with the passphrase" },
  reason: { value: "TEXT", help: "Why, for the history" },
  reveal: { help: "Show the values of secret settings" },
  secrets: { value: "MODE", help: "omit (as without it), seal with a passphrase, or clear" },
  since: { value: "TIME", help: "Not older: 2h, 7d, 2026-11-20 or 2026-11-20T09:30" },
  "skip-invalid": { help: "Leave out wrong values in place of refusing all" },
  table: { value: "NAME", help: "Which table of a database holds the settings" },
  until: { value: "TIME", help: "Older than this; as --since" },
  yes: { short: "y", help: "Do it without asking" },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof flags;

/** Flags that take a value. */
export type ValueFlag = {
  [N in FlagName]: (typeof flags)[N] extends { value: string } ? N : never;
}[FlagName];

/** Flags that are there or not. */
export type SwitchFlag = Exclude<FlagName, ValueFlag>;

/** Flags of every command that say where the settings are and how to answer. */
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
