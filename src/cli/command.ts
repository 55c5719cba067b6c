import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { quote } from "../config/complaint.ts";
import { nearest } from "../suggestion.ts";
import { type Arguments, counted, type FlagName } from "./argument.ts";
import type { SettingClient } from "./connection.ts";
import { CliFailure, EXIT, type ExitCode, usage } from "./failure.ts";
import type { Output } from "./output.ts";
import { canAsk } from "./prompt.ts";
import type { World } from "./world.ts";

/** Command of the command line: its help and its implementation. */
export interface Command {
  readonly name: string;
  /** Its actions by name; undefined: it has none. */
  readonly actions?: Readonly<Record<string, Action>>;
  /** Usage lines, without the program's name. */
  readonly usage: readonly [string, ...string[]];
  /** Description in one line without a full stop. */
  readonly summary: string;
  /** More details: lines of at most 80 columns. */
  readonly details: readonly string[];
  /** Its own flags, without those of every command. */
  readonly flags: readonly FlagName[];
  /** Whether the command accepts `--database`. */
  readonly offline: boolean;
  /** Whether the command uses no token. */
  readonly anonymous?: true;
  /** Minimum and maximum number of positional arguments; with actions, these decide the maximum. */
  readonly positionals: readonly [min: number, max: number];
  /** Flag for a value that users give as a further argument by mistake, such as `--group GROUPS`. */
  readonly instead?: string;
  /**
   * Runs the command; a return is success.
   *
   * @throws CliFailure or ConnectError, which determine the exit code.
   */
  readonly run: (run: CommandRun) => Promise<void>;
  /** Exit code of every failure. Default: by its reason. */
  readonly failureCode?: ExitCode;
}

/** Context of a running command. */
export interface CommandRun {
  readonly args: Arguments;
  readonly world: World;
  /** Standard output: results. */
  readonly output: Output;
  /** Standard error: details before a question. */
  readonly errors: Output;
  /**
   * Connects to the service, or to the database of `--database`. Every call returns the same
   * client.
   */
  connect(): Promise<SettingClient>;
  /** Like connect, for other services of the contract. */
  connectTo<S extends DescService>(service: S): Promise<Client<S>>;
  /** Sets the exit code of a success. Default: 0. */
  exitWith(code: ExitCode): void;
  /** Writes a line that is not a result to standard error. */
  notice(text: string): void;
}

/** Sub-command, such as `revoke` of `token`. */
export interface Action {
  /** Number of arguments after its name, or their minimum and maximum. */
  readonly count: number | readonly [min: number, max: number];
  /** Accepted flags of its command. Default: all. */
  readonly flags?: readonly FlagName[];
  /** Flag for a value that users give as a further argument by mistake, such as `--site NAME`. */
  readonly instead?: string;
  /** It removes or ends something: without a terminal it needs `--yes`. */
  readonly removes?: true;
  readonly act: (run: CommandRun, rest: readonly string[]) => Promise<void>;
}

/**
 * Runs the action named by the first argument.
 *
 * @param check runs before the action.
 * @throws CliFailure (usage).
 */
export async function runAction(
  command: Command,
  run: CommandRun,
  check?: (name: string) => void,
): Promise<void> {
  const [name = "", ...rest] = run.args.positionals;
  const { actions = {} } = command;
  const action = actionNamed(command, name);
  const what = `${command.name} ${name}`;
  checkCount(what, action, { given: rest.length, usages: command.usage });
  for (const flag of command.flags)
    if (!takes(action, flag) && run.args.has(flag))
      throw usage(
        `--${flag} goes with ${command.name} ${Object.entries(actions)
          .flatMap(([other, one]) => (takes(one, flag) ? other : []))
          .join(`, ${command.name} `)} only`,
      );
  check?.(name);
  if (action.removes === true) requireYes(run, what);
  await action.act(run, rest);
}

/**
 * Refuses a removal without `--yes` if the command cannot ask for confirmation.
 *
 * @param what the command, as it was given. @throws CliFailure (refused).
 */
export function requireYes({ args, world }: CommandRun, what: string): void {
  if (args.is("yes") || args.is("dry-run") || canAsk(world)) return;
  throw new CliFailure(
    EXIT.refused,
    `nothing was changed: ${what} requires --yes without a terminal`,
  );
}

/** @throws CliFailure (usage), naming the nearest action, when a command has no such action. */
export function actionNamed({ name: command, actions = {} }: Command, name: string): Action {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return action;
  const [similar] = nearest(name, Object.keys(actions));
  const hint =
    similar === undefined ? `help ${command} lists all` : `did you mean ${command} ${similar}?`;
  throw usage(`there is no command ${quote(`${command} ${name}`)}: ${hint}`);
}

function checkCount(
  what: string,
  { count, instead }: Action,
  { given, usages }: { readonly given: number; readonly usages: readonly string[] },
): void {
  const [min, max] = typeof count === "number" ? [count, count] : count;
  if (given >= min && given <= max) return;
  if (given < min) throw usage(`${what}: ${missingArgument(what, given, usages)}`);
  throw usage(tooMany(what, max, instead));
}

/** Problem of more than `max` arguments. It quotes none: one may be a secret. */
export function tooMany(what: string, max: number, instead?: string): string {
  const taken = max === 0 ? "no arguments" : counted(max, "argument");
  return `${what} takes ${taken}${instead === undefined ? "" : `; use ${instead}`}`;
}

/** Names the first argument of the usage that is not given, such as `NEW-NAME is missing`. */
export function missingArgument(what: string, given: number, usages: readonly string[]): string {
  const own = usagesOf(what, usages)[0] ?? what;
  const words = own
    .slice(what.length + 1)
    .replace(/\[[^\]]*\]/g, "")
    .split(" ");
  const [first = ""] = words;
  if (/^[a-z]/.test(first)) return `an action is missing, such as ${what} ${first}`;
  const names = words.filter((word) => /^[A-Z]/.test(word));
  const name = names[Math.min(given, names.length - 1)] ?? "an argument";
  return `${name.replace("...", "")} is missing`;
}

/** Usage lines of a command or action. */
export function usagesOf(what: string, usages: readonly string[]): readonly string[] {
  return usages.filter((line) => line === what || line.startsWith(`${what} `));
}

function takes({ flags }: Action, flag: FlagName): boolean {
  return flags === undefined || flags.includes(flag);
}
