import { Code, ConnectError } from "@connectrpc/connect";
import { isBroken } from "./call-failure.ts";
import type { CommandRun } from "./command.ts";

/** How long to wait before the first new attempt, and at most, in milliseconds. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** Failures that pass: the service restarts, the connection broke, or this reader was too slow. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
]);

/** A stream that can be gone on with. */
export interface Followed<E> {
  /** Where it begins; undefined: where the service begins. */
  readonly from: bigint | undefined;
  /** @param after what was read last. */
  readonly open: (
    after: bigint | undefined,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ) => AsyncIterable<E>;
  /** Where a message brings its reader to. */
  readonly placeOf: (event: E) => bigint;
  readonly write: (event: E) => Promise<void>;
  /** Where to begin again when what comes next is not kept any more, and what to say of it. */
  readonly restart: () => Promise<{ readonly from: bigint | undefined; readonly notice: string }>;
}

/**
 * Reads until somebody ends it (Ctrl-C, SIGTERM), over as many connections as that takes.
 *
 * @throws ConnectError when it never worked, or when a failure does not pass.
 */
export async function follow<E>(run: CommandRun, followed: Followed<E>): Promise<void> {
  const ended = new AbortController();
  const forget = run.world.onInterrupt(() => ended.abort());
  try {
    await read(run, followed, ended.signal);
  } finally {
    forget();
    ended.abort();
  }
}

async function read<E>(run: CommandRun, followed: Followed<E>, end: AbortSignal): Promise<void> {
  const { open, placeOf, write, restart } = followed;
  let after = followed.from;
  let seen = false;
  let pauses = 0;
  /** What the service has said when what comes next was not kept any more. */
  let lost: string | undefined;
  let restarted = false;
  while (!end.aborted) {
    try {
      if (lost !== undefined) {
        const { from, notice } = await restart();
        run.notice(`${lost}; ${notice}`);
        after = from;
        lost = undefined;
        restarted = true;
      }
      for await (const event of open(after, { signal: end, timeoutMs: 0 })) {
        await write(event);
        after = placeOf(event);
        seen = true;
        restarted = false;
        pauses = 0;
      }
    } catch (error) {
      if (end.aborted) return;
      // Before the first event nothing has broken: it never worked.
      if (!(error instanceof ConnectError) || !seen) throw error;
      if (error.code === Code.OutOfRange && !restarted) {
        lost = error.rawMessage;
        continue;
      }
      if (!PASSING.has(error.code) && !isBroken(error)) throw error;
      run.notice(`the connection broke (${error.rawMessage}); trying again`);
    }
    if (!end.aborted) await run.world.pause(pauseAfter(pauses++, run.world.random()), end);
  }
}

/** Twice as long each time, up to the longest; a random half keeps many watchers apart. */
function pauseAfter(attempt: number, random: number): number {
  const full = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), LONGEST_PAUSE);
  return full / 2 + (full / 2) * random;
}
