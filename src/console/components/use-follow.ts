import { useEffect } from "preact/hooks";
import { whileVisible } from "../api/wait.ts";

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
