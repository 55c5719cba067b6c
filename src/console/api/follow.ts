import { Code, ConnectError } from "@connectrpc/connect";
import type { Signal } from "@preact/signals";
import { type FollowOptions, follow } from "../../client/follow.ts";
import { type Failure, failureOf } from "./failure.ts";
import { pause } from "./wait.ts";

/** Longest pause between two attempts while a page shows that the service is away, in milliseconds. */
const LONGEST_PAUSE = 2_000;

/** Errors that no further attempt mends. Fetch reports a network failure in various ways. */
function isRetried(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code !== Code.PermissionDenied && code !== Code.InvalidArgument;
}

/**
 * `follow` for pages: retries nearly everything, and at once when the network is back. An error that is
 * not retried ends it without throwing.
 *
 * @param options.failure error of the last attempt, undefined while connected.
 */
export async function* followCalls<E, P = never>({
  failure,
  ...options
}: FollowOptions<E, P> & {
  readonly failure?: Signal<Failure | undefined>;
}): AsyncGenerator<E, void> {
  let isFailed = false;
  try {
    yield* follow<E, P>({
      ...{ isRetried, longestPause: LONGEST_PAUSE, pause },
      ...options,
      onState: (state) => {
        if (state.kind === "failed") isFailed = true;
        if (failure !== undefined && state.kind === "connected") failure.value = undefined;
        else if (failure !== undefined && "error" in state) failure.value = failureOf(state.error);
        options.onState?.(state);
      },
    });
  } catch (error) {
    if (!isFailed) throw error;
  }
}
