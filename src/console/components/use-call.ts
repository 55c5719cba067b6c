import { useEffect, useState } from "preact/hooks";
import { type Failure, failureOf } from "../api/failure.ts";

/** A call on its way, or how it ended. */
export interface CallState<T> {
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
