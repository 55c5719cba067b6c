import { ConnectError, createClient } from "@connectrpc/connect";
import { quote } from "../config/complaint.ts";
import { errorText } from "../error-text.ts";
import { suggestion } from "../suggestion.ts";
import { type FlagName, flagSynopsis, flags, readArguments, sharedFlags } from "./argument.ts";
import { explainCall, UnansweredCall } from "./call-failure.ts";
import { whoamiCommand } from "./command/access.ts";
import { exportCommand, importCommand } from "./command/archive.ts";
import { auditCommand } from "./command/audit.ts";
import { backupCommand } from "./command/backup.ts";
import { databaseCommand } from "./command/database.ts";
import { docsCommand } from "./command/docs.ts";
import { diffCommand, historyCommand } from "./command/history.ts";
import { incidentCommand } from "./command/incident.ts";
import { mountCommand } from "./command/mount.ts";
import { principalCommand } from "./command/principal.ts";
import { getCommand, listCommand } from "./command/read.ts";
import { rollbackCommand } from "./command/rollback.ts";
import { ruleCommand } from "./command/rule.ts";
import { setCommand, unsetCommand } from "./command/save.ts";
import { siteCommand } from "./command/site.ts";
import { applyCommand, planCommand } from "./command/state-file.ts";
import { healthCommand, statusCommand } from "./command/status.ts";
import { tokenCommand } from "./command/token.ts";
import { userCommand } from "./command/user.ts";
import { watchCommand } from "./command/watch.ts";
import { webhookCommand } from "./command/webhook.ts";
import { actionNamed, type Command, missingArgument, tooMany, usagesOf } from "./command.ts";
import { type Connection, openConnection } from "./connection.ts";
import { CliFailure, EXIT, type ExitCode, exitMeanings, usage } from "./failure.ts";
import { createOutput, type Output, printableText } from "./output.ts";
import type { World } from "./world.ts";

/** All commands but serve, in the order of the help. */
export const commands: readonly Command[] = [
  getCommand,
  setCommand,
  unsetCommand,
  listCommand,
  watchCommand,
  historyCommand,
  diffCommand,
  rollbackCommand,
  exportCommand,
  importCommand,
  planCommand,
  applyCommand,
  backupCommand,
  siteCommand,
  mountCommand,
  ruleCommand,
  userCommand,
  incidentCommand,
  webhookCommand,
  tokenCommand,
  principalCommand,
  whoamiCommand,
  auditCommand,
  databaseCommand,
  statusCommand,
  healthCommand,
  docsCommand,
];

/** One line per command, for the program's own help; no line feed at the end. */
export function commandHelp(): string {
  return summaries(commands);
}

/**
 * Runs any command except `serve`.
 *
 * @param world access of the command to the outside; `processWorld` creates that of this process.
 * @returns the exit code. Never rejects: errors are written to standard error.
 */
export async function runCli(world: World): Promise<ExitCode> {
  const output = createOutput(world.stdout, world.env);
  const errors = createOutput(world.stderr, world.env);
  try {
    return await dispatch(world, output, errors);
  } catch (error) {
    return report(error, world, errors);
  }
}

async function dispatch(world: World, output: Output, errors: Output): Promise<ExitCode> {
  const [name = "help", ...rest] = world.args;
  const [topic, ...args] = name === "help" ? rest : [name, ...rest];
  if (topic === "help" || topic === undefined) {
    await output.write(overview(commands));
    return EXIT.ok;
  }
  const command = findCommand(topic);
  // Arguments after -- are not flags.
  const flags = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  const [action = ""] = args.filter((arg) => !arg.startsWith("-"));
  if (name === "help" || flags.includes("--help") || flags.includes("-h")) {
    const isWhole = action === "" || command.actions === undefined;
    await output.write(isWhole ? helpOf(command) : helpOfAction(command, action));
    return EXIT.ok;
  }
  return runCommand(command, args, { world, output, errors });
}

function findCommand(name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = [...commands.map((candidate) => candidate.name), "serve", "help"];
  throw usage(`there is no command ${quote(name)}${suggestion(name, names, ": help lists all")}`);
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  { world, output, errors }: { world: World; output: Output; errors: Output },
): Promise<ExitCode> {
  const args = readArguments(argv, [...command.flags, ...flagsShared(command)]);
  checkCount(command, args.positionals.length);
  let code: ExitCode = EXIT.ok;
  let connecting: Promise<Connection> | undefined;
  const connect = (): Promise<Connection> => {
    connecting ??= openConnection(args, world, { anonymous: command.anonymous === true });
    return connecting;
  };
  try {
    await command.run({
      args,
      world,
      output,
      errors,
      connect: async () => (await connect()).settings,
      exitWith: (chosen) => {
        code = chosen;
      },
      connectTo: async (service) => createClient(service, (await connect()).transport),
      notice: (text) => void errors.write(`mooring: ${printableText(text)}\n`).catch(() => {}),
    });
    return code;
  } catch (error) {
    if (error instanceof UnansweredCall)
      throw explainCall(error.cause, await connect(), error.note);
    throw error instanceof ConnectError ? explainCall(error, await connect()) : error;
  } finally {
    await connecting?.then(
      ({ close }) => close(),
      () => undefined,
    );
  }
}

function checkCount(
  { name, actions, usage: usages, positionals: [min, max], instead }: Command,
  given: number,
): void {
  if (given < min) throw usage(missingArgument(name, given, usages));
  if (given > max && actions === undefined)
    throw usage(
      `${tooMany(name, max, instead)}${max === 0 ? "" : " (put text with spaces in quotes)"}`,
    );
}

async function report(error: unknown, { args }: World, errors: Output): Promise<ExitCode> {
  const failure =
    error instanceof CliFailure ? error : new CliFailure(EXIT.failed, errorText(error));
  const { name: command, failureCode = failure.exitCode } =
    commands.find(({ name }) => name === args[0]) ?? {};
  const head = `mooring${command === undefined ? "" : ` ${command}`}: ${failure.message}`;
  const hint =
    failure.exitCode === EXIT.usage
      ? [`mooring ${command === undefined ? "help" : `${command} --help`} shows how`]
      : [];
  const lines = [head, ...failure.lines.map((line) => `  ${line}`), ...hint];
  // The reader of standard error may have closed it.
  await errors.write(`${lines.map(printableText).join("\n")}\n`).catch(() => undefined);
  return failureCode;
}

/** One line per command, for the program's own help; no line feed at the end. */
function summaries(commands: readonly Command[]): string {
  return columns(commands.map(({ name, summary }) => [name, summary]));
}

/** Text of `mooring help`. */
function overview(commands: readonly Command[]): string {
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
function helpOf(command: Command): string {
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

/**
 * Text of `mooring COMMAND ACTION --help`: its own usage and flags first, then what the command says
 * about all of its actions.
 *
 * @throws CliFailure (usage) for an action that the command does not have.
 */
function helpOfAction(command: Command, name: string): string {
  const { flags: own } = actionNamed(command, name);
  const usages = usagesOf(`${command.name} ${name}`, command.usage);
  // An action that only points to another command.
  if (usages.length === 0) return helpOf(command);
  const named = new Set(usages.flatMap((line) => line.match(/--[a-z-]+/g) ?? []));
  const all = [...command.flags, ...flagsShared(command)];
  const isOwn = (flag: FlagName): boolean => named.has(`--${flag}`) || own?.includes(flag) === true;
  const flagsOfAction = all.filter(isOwn);
  return [
    `Usage: ${usages.map((line) => wrapped(`mooring ${line}`)).join("\n       ")}`,
    ...(flagsOfAction.length === 0 ? [] : [`Flags:\n${flagLines(flagsOfAction)}`]),
    [`${command.summary}.`, ...command.details].join("\n"),
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
function flagsShared({ offline }: Command): readonly FlagName[] {
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
