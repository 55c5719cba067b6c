/**
 * Lets those who wait go on one after the other, each in a turn of the event loop of its own: what
 * others ask the process for is answered in between.
 */
export function createPace(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(next);
    });
}
