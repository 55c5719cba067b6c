import type { CommandRun } from "./command.ts";

/**
 * Options of a call that takes longer than others.
 *
 * @param timeoutMs its time limit in milliseconds, unless --timeout sets one.
 */
export function timeLimit(
  { args }: Pick<CommandRun, "args">,
  timeoutMs: number,
): { readonly timeoutMs?: number } {
  return args.text("timeout") === undefined ? { timeoutMs } : {};
}
