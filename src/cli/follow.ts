import { ConnectError } from "@connectrpc/connect";
import { type FollowOptions, follow, type StreamOptions } from "../client/follow.ts";
import type { CommandRun } from "./command.ts";

/** Server stream that a command prints. */
export interface Followed<E, P = bigint> {
  readonly open: FollowOptions<E, P>["open"];
  readonly write: (event: E) => Promise<void>;
  /** Position of the first stream; absent: the service decides. */
  readonly from?: P | undefined;
  /** See `positionOf` of `follow`. */
  readonly positionOf?: (event: E) => P;
  /** Position to continue from, and the notice, when the next events have been deleted. */
  readonly restart?: (
    options: Pick<StreamOptions, "signal">,
  ) => Promise<{ readonly from: P | undefined; readonly notice: string }>;
}

/**
 * Prints events until SIGINT, SIGTERM or the end of the output's reader, and reopens the stream when it
 * breaks.
 *
 * @throws ConnectError of a first stream that fails, or one that is not retried.
 */
export async function printEvents<E, P = bigint>(
  run: CommandRun,
  followed: Followed<E, P>,
): Promise<void> {
  const { world, notice } = run;
  const { write, restart, ...stream } = followed;
  const ended = new AbortController();
  const forget = world.onInterrupt(() => ended.abort());
  const events = follow<E, P>({
    ...stream,
    // A failure of the first stream ends the command.
    retryFirst: false,
    signal: ended.signal,
    pause: world.pause,
    random: world.random,
    onState: (state) => {
      if (state.kind !== "waiting" || state.error === undefined) return;
      const { rawMessage } = ConnectError.from(state.error);
      notice(`the connection broke (${rawMessage}); trying again`);
    },
    ...(restart !== undefined && {
      restart: async ({ rawMessage }: ConnectError, signal: AbortSignal) => {
        const { from, notice: restarted } = await restart({ signal });
        notice(`${rawMessage}; ${restarted}`);
        return from;
      },
    }),
  });
  try {
    for await (const event of events) {
      await write(event);
      if (run.output.isClosed) return;
    }
  } finally {
    forget();
  }
}
