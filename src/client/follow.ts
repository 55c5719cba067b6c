import { Code, ConnectError } from "@connectrpc/connect";

/** Status codes after which a new stream can continue where the last one ended. */
const RETRIED: ReadonlySet<Code> = new Set([
  Code.Aborted,
  // An HTTP/2 connection that broke; a caller's own cancellation is recognized by its signal.
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.ResourceExhausted,
  Code.Unavailable,
  Code.Unknown,
]);

/** Pause before the first new attempt and the longest one, in milliseconds; doubled in between. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** Options that `follow` gives to each call. */
export interface StreamOptions {
  /** Aborted when following ends, and when the stream was silent for too long. */
  readonly signal: AbortSignal;
  /** No deadline, which overrides the transport's default. */
  readonly timeoutMs: 0;
  /** Called on the response headers: the stream is open, before the first message. */
  readonly onHeader: () => void;
}

export type FollowState =
  | { readonly kind: "connected" }
  /** A new attempt follows. `error` is absent if the service ended the stream without an error. */
  | { readonly kind: "waiting"; readonly error?: unknown; readonly ms: number }
  /** Following has ended with this error, which `follow` throws as well. */
  | { readonly kind: "failed"; readonly error: unknown };

export interface FollowOptions<E, P> {
  /**
   * Opens a stream. It may be a generator that makes other calls as well: their failures count as
   * failures of the stream.
   *
   * @param after position of the last event; undefined: the service chooses where to begin.
   */
  readonly open: (after: P | undefined, options: StreamOptions) => AsyncIterable<E>;
  /** Position of an event, from which the next stream resumes; absent: each stream starts again. */
  readonly positionOf?: (event: E) => P;
  /** Position of the first stream. */
  readonly from?: P | undefined;
  /**
   * Chooses a new position after OUT_OF_RANGE: events after the old one are no longer kept. Absent:
   * OUT_OF_RANGE is treated like other errors.
   */
  readonly restart?: (
    error: ConnectError,
    signal: AbortSignal,
  ) => Promise<P | undefined> | P | undefined;
  /** Decides whether an error is retried; default: `isTransient`. */
  readonly isRetried?: (error: unknown) => boolean;
  /** Whether an error before the first event is retried; default: true. */
  readonly retryFirst?: boolean;
  /** Ends following, and each call and pause of it, without an error. */
  readonly signal?: AbortSignal | undefined;
  readonly onState?: (state: FollowState) => void;
  /**
   * Time in milliseconds after which a stream without headers or events is replaced; default: no
   * limit.
   */
  readonly maxSilence?: number;
  /** Longest pause before a new attempt, in milliseconds; default 10,000. */
  readonly longestPause?: number;
  /** Resolves after `ms` milliseconds, or when the signal is aborted. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to below 1; default `Math.random`. */
  readonly random?: () => number;
}

/** Reports whether a new stream may succeed after this error. */
function isTransient(error: unknown): boolean {
  return error instanceof ConnectError && RETRIED.has(error.code);
}

/**
 * Reads a server stream over as many calls as needed. After a break the next call resumes after the
 * last event that the consumer has taken, so that no event is missed or repeated. Pauses grow from
 * 250 ms with jitter, and start again with each event.
 *
 * @throws the first error that is not retried.
 */
export async function* follow<E, P = never>(options: FollowOptions<E, P>): AsyncGenerator<E, void> {
  const { open, positionOf, restart, isRetried = isTransient, retryFirst = true } = options;
  const { signal = new AbortController().signal, onState = () => undefined } = options;
  const { pause = abortablePause, random = Math.random, longestPause = LONGEST_PAUSE } = options;
  let after = options.from;
  let pauses = 0;
  let hasBegun = retryFirst;
  /** The OUT_OF_RANGE after which no new position is known yet. */
  let lost: ConnectError | undefined;
  let isRestarted = false;
  while (!signal.aborted) {
    const stream = limitedStream(signal, options.maxSilence);
    let isConnected = false;
    const onHeader = (): void => {
      stream.renew();
      if (!isConnected) onState({ kind: "connected" });
      isConnected = true;
    };
    let failure: { readonly error: unknown } | undefined;
    try {
      if (lost !== undefined && restart !== undefined) {
        after = await restart(lost, stream.signal);
        lost = undefined;
        isRestarted = true;
      }
      for await (const event of open(after, { signal: stream.signal, timeoutMs: 0, onHeader })) {
        onHeader();
        // The limit does not include the time of the consumer.
        stream.hold();
        yield event;
        after = positionOf?.(event);
        hasBegun = true;
        isRestarted = false;
        pauses = 0;
        stream.renew();
      }
    } catch (error) {
      failure = { error };
    } finally {
      stream.end();
    }
    if (signal.aborted) return;
    if (failure !== undefined) {
      const { error } = failure;
      const isLost =
        restart !== undefined && error instanceof ConnectError && error.code === Code.OutOfRange;
      if (isLost) lost = error;
      const isFirstLoss = isLost && !isRestarted;
      if (!hasBegun || !(isFirstLoss || isRetried(error))) {
        onState({ kind: "failed", error });
        throw error;
      }
      if (isFirstLoss) continue;
    }
    const ms = pauseAfter(pauses++, random(), longestPause);
    onState({ kind: "waiting", ...failure, ms });
    await pause(ms, signal);
  }
}

/**
 * Pause before an attempt: doubled each time, half of it random, so that clients do not reconnect
 * all at once.
 */
function pauseAfter(attempt: number, random: number, longest: number): number {
  const full = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), longest);
  return full / 2 + (full / 2) * random;
}

/** The signal of one stream: aborted with its parent, at its end, or after too long a silence. */
function limitedStream(parent: AbortSignal, maxSilence: number | undefined) {
  const ending = new AbortController();
  const hold = (): void => clearTimeout(timer);
  const end = (): void => {
    hold();
    parent.removeEventListener("abort", end);
    ending.abort();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const renew = (): void => {
    hold();
    if (maxSilence !== undefined) timer = setTimeout(end, maxSilence);
  };
  parent.addEventListener("abort", end);
  renew();
  return { signal: ending.signal, end, hold, renew };
}

/** Resolves after `ms` milliseconds, or at once when the signal is aborted. */
export function abortablePause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
