import { effect } from "@preact/signals";

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
    signal.addEventListener("abort", done);
    addEventListener("online", done);
  });
}

/** Resolves when somebody can see the page. */
export function untilSeen(signal: AbortSignal): Promise<void> {
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
export function whenHidden(time: number, tell: () => void): () => void {
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
