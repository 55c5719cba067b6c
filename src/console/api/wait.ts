import { effect } from "@preact/signals";

/** A hidden tab closes its connections after so many milliseconds: a browser has six per host. */
const HIDDEN = 30_000;

/** Resolves when a condition over signals holds. */
export function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    effect(function (this: { dispose(): void }) {
      if (!condition()) return;
      resolve();
      this.dispose();
    });
  });
}

/** Resolves after so many milliseconds, or as soon as the network comes back. */
export function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    if (signal.aborted) return done();
    signal.addEventListener("abort", done);
    addEventListener("online", done);
  });
}

/** Resolves when the page is visible. */
function untilSeen(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/**
 * Tells when the page has been hidden for so many milliseconds.
 *
 * @returns ends the watch.
 */
function whenHidden(time: number, tell: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(tell, time);
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/**
 * Follows a source while the page is visible, until the signal or its own end.
 *
 * @param follow ends when its signal is aborted; called again when the page becomes visible again.
 */
export async function whileVisible(
  follow: (signal: AbortSignal) => Promise<void>,
  left: AbortSignal,
): Promise<void> {
  while (!left.aborted) {
    await untilSeen(left);
    if (left.aborted) return;
    const hidden = new AbortController();
    const unwatch = whenHidden(HIDDEN, () => hidden.abort());
    await follow(AbortSignal.any([left, hidden.signal]));
    unwatch();
    // It has ended on its own.
    if (!hidden.signal.aborted) return;
  }
}
