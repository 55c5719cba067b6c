import type { Command } from "./command.ts";
import { commands } from "./command-list.ts";
import { exitMeanings } from "./exit-code.ts";
import { type FlagName, flagSynopsis, flags, sharedFlags } from "./flag.ts";

/** A line for each command, for the program's own help; no line feed at the end. */
export function commandHelp(): string {
  return columns(commands.map(({ name, summary }) => [name, summary]));
}

/** What `mooring help` shows. */
export function overview(): string {
  return [
    "Usage: mooring COMMAND [arguments] [flags]",
    "Reads and changes the settings of a running service.",
    commandHelp(),
    `Flags of every command:\n${flagLines(sharedFlags)}`,
    "MOORING_ADDRESS, MOORING_TOKEN_FILE and MOORING_TOKEN stand for the flags of\nthose names; a flag wins. mooring COMMAND --help tells more of a command, and\nmooring serve --help how to run the service.",
    `Exit codes:\n${exitLines()}`,
  ]
    .map((part) => `${part}\n`)
    .join("\n");
}

/** What `mooring COMMAND --help` shows. */
export function helpOf(command: Command): string {
  const lines = command.usage.map((line) => `mooring ${line}`);
  return [
    `Usage: ${lines.join("\n       ")}`,
    [`${command.summary}.`, ...command.details].join("\n"),
    ...(command.flags.length === 0 ? [] : [`Flags:\n${flagLines(command.flags)}`]),
    `Flags of every command:\n${flagLines(flagsShared(command))}`,
    `Exit codes:\n${exitLines()}`,
  ]
    .map((part) => `${part}\n`)
    .join("\n");
}

/** The flags that a command has besides its own. */
export function flagsShared({ offline }: Command): readonly FlagName[] {
  return sharedFlags.filter((name) => offline || name !== "database");
}

function flagLines(names: readonly FlagName[]): string {
  return columns(names.map((name) => [flagSynopsis(name), flags[name].help]));
}

function exitLines(): string {
  return columns(Object.entries(exitMeanings));
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join("\n");
}
