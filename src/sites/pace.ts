/**
 * Between two sites that are begun with in the background, in milliseconds. A site costs a millisecond
 * or two of the event loop: a hundred that get the same change are told within a second, and most of
 * each moment is left to those who ask this process for something.
 */
const GAP = 5;

/** Lets those who wait go on one after the other, with a gap in between; who comes alone goes on at once. */
export function createPace(gap = GAP): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let isResting = false;
  const rest = (): void => {
    isResting = true;
    // From when one has begun: a busy process takes its time, and is not caught up with in a burst.
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
