import { useEffect } from "preact/hooks";
import { whileSeen } from "../api/wait.ts";

/**
 * Follows something for as long as a component is there and somebody can see it.
 *
 * @param follow ends when the signal does; it is called again when the page is seen again.
 * @param dependencies begin it anew when they change.
 */
export function useFollow(
  follow: (signal: AbortSignal) => Promise<void>,
  dependencies: readonly unknown[],
): void {
  useEffect(() => {
    const leaving = new AbortController();
    void whileSeen(follow, leaving.signal);
    return () => leaving.abort();
  }, dependencies);
}
