import { Code, ConnectError } from "@connectrpc/connect";
import { effect, type Signal } from "@preact/signals";
import { type FollowOptions, follow } from "../../client/follow.ts";
import { type Failure, failureOf } from "./failure.ts";

/**
 * Longest pause between two attempts while a page shows that the service is unavailable, in
 * milliseconds.
 */
const LONGEST_PAUSE = 2_000;

/** Reports whether a retry may succeed. Fetch reports network failures in various ways. */
function isRetried(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code !== Code.PermissionDenied && code !== Code.InvalidArgument;
}

/**
 * `follow` for pages: retries most errors, and immediately when the network is back. Other errors
 * end it without throwing.
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
      isRetried,
      longestPause: LONGEST_PAUSE,
      pause,
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

/**
 * Time after which a hidden tab closes its connections, in milliseconds: a browser has six per
 * host.
 */
const HIDDEN = 30_000;

/** Resolves when a condition over signals holds. */
export function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    effect(function (this: { dispose(): void }) {
      if (!condition()) return;
      resolve();
      this.dispose();
    });
  });
}

/** Resolves after `time` milliseconds, or as soon as the network is back. */
function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    if (signal.aborted) return done();
    signal.addEventListener("abort", done);
    addEventListener("online", done);
  });
}

/** Resolves when the page is visible. */
function untilSeen(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/**
 * Calls `onHidden` when the page has been hidden for `time` milliseconds.
 *
 * @returns a function that ends this.
 */
function whenHidden(time: number, onHidden: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(onHidden, time);
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/**
 * Follows a source while the page is visible, until the signal or its own end.
 *
 * @param follow ends when its signal is aborted; called again when the page becomes visible again.
 */
export async function whileVisible(
  follow: (signal: AbortSignal) => Promise<void>,
  left: AbortSignal,
): Promise<void> {
  while (!left.aborted) {
    await untilSeen(left);
    if (left.aborted) return;
    const hidden = new AbortController();
    const unwatch = whenHidden(HIDDEN, () => hidden.abort());
    await follow(AbortSignal.any([left, hidden.signal]));
    unwatch();
    // The source has ended.
    if (!hidden.signal.aborted) return;
  }
}
