import { nearestName, quote } from "../config/complaint.ts";
import type { FlagName } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";

/** Sub-command, such as `revoke` of `token`. */
export interface Action {
  /** Number of arguments. */
  readonly count: number;
  /** The flags of its command that are its own. */
  readonly flags: readonly FlagName[];
  readonly act: (run: CommandRun, rest: readonly string[]) => Promise<void>;
}

/** @throws CliFailure (usage) naming the nearest one when a command has no such action. */
export function actionNamed<T>(
  command: string,
  actions: Readonly<Record<string, T>>,
  name: string,
): T {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return action;
  const nearest = nearestName(name, Object.keys(actions));
  throw usage(`there is no ${command} ${quote(name)}: did you mean ${command} ${nearest}?`);
}

/**
 * Runs the action that the first argument names.
 *
 * @param flags of the command; each action takes some of them.
 * @param check runs before the action.
 * @throws CliFailure (usage).
 */
export async function runAction(
  command: string,
  actions: Readonly<Record<string, Action>>,
  {
    run,
    flags,
    check,
  }: {
    readonly run: CommandRun;
    readonly flags: readonly FlagName[];
    readonly check?: (name: string) => void;
  },
): Promise<void> {
  const [name = "", ...rest] = run.args.positionals;
  const action = actionNamed(command, actions, name);
  if (rest.length !== action.count)
    throw usage(
      action.count === 0
        ? `${command} ${name} takes nothing after it`
        : `${command} ${name} takes one argument`,
    );
  for (const flag of flags)
    if (!action.flags.includes(flag) && run.args.has(flag))
      throw usage(
        `--${flag} goes with ${command} ${Object.keys(actions)
          .filter((other) => actions[other]?.flags.includes(flag))
          .join(`, ${command} `)} only`,
      );
  check?.(name);
  await action.act(run, rest);
}
