import type { CallOptions } from "@connectrpc/connect";
import { isUnanswered, UnansweredCall } from "./call-failure.ts";
import type { CommandRun } from "./command.ts";
import { CliFailure, EXIT } from "./failure.ts";
import { timeLimit } from "./time-limit.ts";

/** Default time limit in milliseconds: for a call that reads or writes all data of a service. */
const TIME_LIMIT = 120_000;
/** Update interval of the elapsed time, in milliseconds. */
const INTERVAL = 1_000;

/** Name, error note and time limit of a long call. */
interface LongWork {
  readonly work: string;
  readonly interruptNote: string;
  readonly timeoutMs?: number;
}

/**
 * Makes a call with a long time limit. After one second, a terminal shows the elapsed time; Ctrl-C
 * cancels the call.
 *
 * @param work noun of the call for messages, such as `restore`.
 * @param interruptNote sentence of the error after Ctrl-C and without an answer: what was stored, or how
 *   to see what is left.
 * @param timeoutMs time limit in milliseconds, unless --timeout sets one. Default: 120 s.
 * @throws CliFailure after Ctrl-C; UnansweredCall.
 */
export async function longCall<T>(
  run: Pick<CommandRun, "args" | "errors" | "world">,
  { work, interruptNote, timeoutMs = TIME_LIMIT }: LongWork,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const forget = run.world.onInterrupt(() => ended.abort());
  const line = showTime(run, work);
  try {
    return await call({ ...timeLimit(run, timeoutMs), signal: ended.signal });
  } catch (error) {
    if (ended.signal.aborted)
      throw new CliFailure(EXIT.failed, `${work} was interrupted; ${interruptNote}`);
    throw isUnanswered(error) ? new UnansweredCall(error, interruptNote) : error;
  } finally {
    forget();
    line.remove();
  }
}

/** Shows the elapsed time on a terminal. */
function showTime({ errors }: Pick<CommandRun, "errors">, work: string): { remove(): void } {
  if (!errors.isTerminal) return { remove: () => undefined };
  let seconds = 0;
  const write = (text: string): void => void errors.write(`\r${text}`).catch(() => undefined);
  const timer = setInterval(() => {
    seconds += INTERVAL / 1_000;
    write(`${work}: ${seconds} s (Ctrl-C ends it)`.slice(0, errors.width - 1));
  }, INTERVAL);
  return {
    remove: () => {
      clearInterval(timer);
      if (seconds > 0) write(`${" ".repeat(errors.width - 1)}\r`);
    },
  };
}
