import type { SettingStore } from "./store.ts";

export interface EraseDeps {
  readonly store: Pick<SettingStore, "eraseReplaced">;
  /** Between two attempts, in milliseconds. */
  readonly interval: number;
  /** Told once that the clear text of sealed secrets is still in a file, with the reason. */
  readonly onLeft: (reason: string) => void;
  /** Told that it is not any more, after onLeft. */
  readonly onGone: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Takes the clear text of what was sealed out of the database's files; where something is in the way
 * it says so and tries again in the background until it has succeeded.
 *
 * @returns after the first attempt, with a function that ends the others.
 */
export async function startErasing(deps: EraseDeps): Promise<() => void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let isToldOf = false;
  const attempt = async (): Promise<void> => {
    const left = await deps.store.eraseReplaced().catch((error: unknown) => {
      if (!stopped) deps.onError(error);
      return "";
    });
    if (left === undefined) {
      if (isToldOf) deps.onGone();
      return;
    }
    if (!isToldOf && left !== "") {
      isToldOf = true;
      deps.onLeft(left);
    }
    if (!stopped) timer = setTimeout(attempt, deps.interval).unref();
  };
  await attempt();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
