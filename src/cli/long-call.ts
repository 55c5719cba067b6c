import type { CallOptions } from "@connectrpc/connect";
import type { CommandRun } from "./command.ts";
import { CliFailure, EXIT } from "./failure.ts";
import { timeLimit } from "./time-limit.ts";

/** Default time limit, that of a call that reads or writes all of a service, in milliseconds. */
const TIME_LIMIT = 120_000;
/** Interval of the line that shows the time, in milliseconds. */
const INTERVAL = 1_000;

/** Work of a long call. */
interface LongWork {
  readonly work: string;
  readonly after: string;
  readonly timeoutMs?: number;
}

/**
 * Makes a call that may take long. From one second on, a terminal shows how long it takes; Ctrl-C ends
 * it.
 *
 * @param work its name, such as `restore`.
 * @param after what holds after an end by Ctrl-C, as a sentence.
 * @param timeoutMs time limit in milliseconds, unless --timeout sets one. Default: 120 s.
 * @throws CliFailure after Ctrl-C.
 */
export async function longCall<T>(
  run: Pick<CommandRun, "args" | "errors" | "world">,
  { work, after, timeoutMs = TIME_LIMIT }: LongWork,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const forget = run.world.onInterrupt(() => ended.abort());
  const line = showTime(run, work);
  try {
    return await call({ ...timeLimit(run, timeoutMs), signal: ended.signal });
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    throw new CliFailure(EXIT.failed, `${work} was ended by Ctrl-C; ${after}`);
  } finally {
    forget();
    line.remove();
  }
}

/** Shows the time on a terminal. */
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
