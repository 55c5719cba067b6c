import { type FlagName, flagSynopsis, flags, sharedFlags } from "./argument.ts";
import type { Command } from "./command.ts";
import { exitMeanings } from "./failure.ts";

/** One line per command, for the program's own help; no line feed at the end. */
export function summaries(commands: readonly Command[]): string {
  return columns(commands.map(({ name, summary }) => [name, summary]));
}

/** Text of `mooring help`. */
export function overview(commands: readonly Command[]): string {
  return [
    "Usage: mooring COMMAND [arguments] [flags]",
    "Reads and changes the settings of a running service.",
    summaries(commands),
    `Flags of every command:\n${flagLines(sharedFlags)}`,
    "MOORING_ADDRESS, MOORING_TOKEN_FILE and MOORING_TOKEN replace the flags of those\nnames; a flag overrides its variable. mooring COMMAND --help describes a command,\nmooring serve --help the service.",
    `Exit codes:\n${exitLines()}`,
  ]
    .map((part) => `${part}\n`)
    .join("\n");
}

/** Text of `mooring COMMAND --help`. */
export function helpOf(command: Command): string {
  const lines = command.usage.map((line) => wrapped(`mooring ${line}`));
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

/** Wraps a usage line: flags that do not fit continue on indented lines. */
function wrapped(usage: string): string {
  const lines = [""];
  for (const part of usage.split(/ (?=\[|--)/)) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + part.length >= WIDTH) lines.push(`    ${part}`);
    else lines[lines.length - 1] = last === "" ? part : `${last} ${part}`;
  }
  return lines.join("\n       ");
}

const WIDTH = 78;

/** Flags of a command in addition to its own. */
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
