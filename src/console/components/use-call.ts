import { useEffect, useState } from "preact/hooks";
import { type Failure, failureOf } from "../api/failure.ts";
import { whileVisible } from "../api/follow.ts";

/** A call on its way, or how it ended. */
interface CallState<T> {
  /** The newest result; it stays while a call is repeated. */
  readonly data: T | undefined;
  readonly failure: Failure | undefined;
  /** Repeats the call. */
  again(): void;
}

/**
 * Calls when a component appears, and again when something that the call depends on has changed. What
 * is of no use any more is aborted.
 */
export function useCall<T>(
  call: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): CallState<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Pick<CallState<T>, "data" | "failure">>({
    data: undefined,
    failure: undefined,
  });
  useEffect(() => {
    const leaving = new AbortController();
    call(leaving.signal).then(
      (data) => {
        if (!leaving.signal.aborted) setState({ data, failure: undefined });
      },
      (thrown: unknown) => {
        if (leaving.signal.aborted) return;
        const failure = failureOf(thrown);
        // Data stays visible while the service is away.
        setState(({ data }) => ({ data: failure.kind === "offline" ? data : undefined, failure }));
      },
    );
    return () => leaving.abort();
  }, [turn, ...dependencies]);
  return { ...state, again: () => setTurn((count) => count + 1) };
}

/**
 * Follows a source while a component is mounted and visible.
 *
 * @param follow ends when the signal is aborted; called again when the page becomes visible again.
 * @param dependencies restart it when they change.
 */
export function useFollow(
  follow: (signal: AbortSignal) => Promise<void>,
  dependencies: readonly unknown[],
): void {
  useEffect(() => {
    const leaving = new AbortController();
    void whileVisible(follow, leaving.signal);
    return () => leaving.abort();
  }, dependencies);
}
