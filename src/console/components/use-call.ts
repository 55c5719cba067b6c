import { useEffect, useState } from "preact/hooks";
import { type Failure, failureOf } from "../api/failure.ts";
import { whileVisible } from "../api/follow.ts";
import { language } from "../i18n/language.ts";

/** State of a call: pending, or its result. */
interface CallState<T> {
  /** Newest result, which stays while a call is repeated. */
  readonly data: T | undefined;
  readonly failure: Failure | undefined;
  /** Repeats the call. */
  again(): void;
}

/**
 * Makes a call when a component appears, and again when a dependency or the language has changed:
 * replies have texts. Outdated calls are aborted.
 */
export function useCall<T>(
  call: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): CallState<T> {
  const [reloads, setReloads] = useState(0);
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
        // Data stays visible while the service is unavailable.
        setState(({ data }) => ({ data: failure.kind === "offline" ? data : undefined, failure }));
      },
    );
    return () => leaving.abort();
  }, [reloads, language.value, ...dependencies]);
  return { ...state, again: () => setReloads((count) => count + 1) };
}

/**
 * Follows a source while a component is mounted and visible.
 *
 * @param follow ends when the signal is aborted; called again when the page becomes visible again.
 * @param dependencies restart it when they change, as the language does.
 */
export function useFollow(
  follow: (signal: AbortSignal) => Promise<void>,
  dependencies: readonly unknown[],
): void {
  useEffect(() => {
    const leaving = new AbortController();
    void whileVisible(follow, leaving.signal);
    return () => leaving.abort();
  }, [language.value, ...dependencies]);
}
