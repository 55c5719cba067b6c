import { nearestName } from "../config/nearest.ts";
import { quote } from "../config/quote.ts";
import { readArguments } from "./argument.ts";
import { explainCall } from "./call-failure.ts";
import { CallFailure } from "./caller.ts";
import type { Command } from "./command.ts";
import { commands } from "./command-list.ts";
import { type Connection, openConnection } from "./connection.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { CliFailure, OutputClosed, usage } from "./failure.ts";
import { flagsShared, helpOf, overview } from "./help.ts";
import { createOutput, type Output } from "./output.ts";
import { printableText } from "./printable.ts";
import type { World } from "./world.ts";

export { commandHelp } from "./help.ts";

/**
 * Runs a command of the command line: everything but serve.
 *
 * @param world what the command knows of the world; `processWorld` makes that of this process.
 * @returns the exit code. Never rejects: what went wrong stands on standard error.
 */
export async function runCli(world: World): Promise<ExitCode> {
  const output = createOutput(world.stdout, world.env);
  const errors = createOutput(world.stderr, world.env);
  try {
    await dispatch(world, output, errors);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof OutputClosed) return EXIT.ok;
    return report(error, world, errors);
  }
}

async function dispatch(world: World, output: Output, errors: Output): Promise<void> {
  const [name = "help", ...rest] = world.args;
  const [topic, ...args] = name === "help" ? [...rest, "help"] : [name, ...rest];
  if (topic === "help" || topic === undefined) return output.write(overview());
  const command = findCommand(topic);
  // What stands after -- is no flag.
  const flags = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (name === "help" || flags.includes("--help") || flags.includes("-h"))
    return output.write(helpOf(command));
  await runCommand(command, args, { world, output, errors });
}

function findCommand(name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const names = [...commands.map((candidate) => candidate.name), "serve", "help"];
  throw usage(`there is no command ${quote(name)}: did you mean ${nearestName(name, names)}?`);
}

async function runCommand(
  command: Command,
  argv: readonly string[],
  { world, output, errors }: { world: World; output: Output; errors: Output },
): Promise<void> {
  const args = readArguments(argv, [...command.flags, ...flagsShared(command)]);
  checkCount(command, args.positionals.length);
  let connecting: Promise<Connection> | undefined;
  const connect = (): Promise<Connection> => {
    connecting ??= openConnection(args, world);
    return connecting;
  };
  try {
    await command.run({
      args,
      world,
      output,
      errors,
      connect: async () => (await connect()).caller,
      notice: (text) => void errors.write(`mooring: ${printableText(text)}\n`).catch(() => {}),
    });
  } catch (error) {
    throw error instanceof CallFailure ? explainCall(error, await connect()) : error;
  } finally {
    await connecting?.then(
      ({ caller }) => caller.close(),
      () => undefined,
    );
  }
}

function checkCount({ positionals: [min, max] }: Command, given: number): void {
  if (given < min) throw usage("an argument is missing");
  if (given > max)
    throw usage(
      `more than ${max} argument${max === 1 ? "" : "s"}: text with spaces stands in quotes`,
    );
}

async function report(error: unknown, { args }: World, errors: Output): Promise<ExitCode> {
  const failure =
    error instanceof CliFailure
      ? error
      : new CliFailure(EXIT.failed, error instanceof Error ? error.message : String(error));
  const command = commands.find(({ name }) => name === args[0])?.name;
  const head = `mooring${command === undefined ? "" : ` ${command}`}: ${failure.message}`;
  const hint =
    failure.exitCode === EXIT.usage
      ? [`mooring ${command === undefined ? "help" : `${command} --help`} shows how`]
      : [];
  const lines = [head, ...failure.lines.map((line) => `  ${line}`), ...hint];
  // Nobody may be reading: then there is nobody to tell.
  await errors.write(`${lines.map(printableText).join("\n")}\n`).catch(() => undefined);
  return failure.exitCode;
}
