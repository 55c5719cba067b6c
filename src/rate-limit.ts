/**
 * Gap between two sites in the background, in milliseconds. A site costs a millisecond or two of
 * the event loop: a hundred sites with the same change are updated within a second, and most of the
 * time is left to other requests.
 */
const GAP = 5;

/**
 * Rate limit: waiting callers continue one after the other, with a gap in between; a single caller
 * continues at once.
 */
export function createRateLimit(gap = GAP): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let isResting = false;
  const rest = (): void => {
    isResting = true;
    // The gap starts with the call: a busy process does not catch up in a burst.
    setTimeout(() => {
      isResting = false;
      const next = waiting.shift();
      if (next === undefined) return;
      next();
      rest();
    }, gap).unref();
  };
  return async () => {
    if (isResting) return new Promise((resolve) => waiting.push(resolve));
    rest();
  };
}
