import { useEffect } from "preact/hooks";
import { untilSeen, whenHidden } from "../api/wait.ts";

/** A tab that nobody looks at gives its connections back after so long: browsers have six. In ms. */
const HIDDEN = 30_000;

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

async function whileSeen(
  follow: (signal: AbortSignal) => Promise<void>,
  left: AbortSignal,
): Promise<void> {
  while (!left.aborted) {
    await untilSeen(left);
    const hidden = new AbortController();
    const unwatch = whenHidden(HIDDEN, () => hidden.abort());
    await follow(AbortSignal.any([left, hidden.signal]));
    unwatch();
    // It has ended by itself: there is nothing to follow.
    if (!hidden.signal.aborted) return;
  }
}
