import type { SettingStore } from "../../store/setting-store.ts";

/** Revisions that are forgotten in one transaction: so few that no save notices. */
const STEP = 200;
/** Between two steps, in milliseconds. */
const PAUSE = 50;

export interface CompactionDeps {
  readonly store: Pick<SettingStore, "compact">;
  /** Revisions that are kept at most. */
  readonly maxRevisions: number;
  /** How long a revision is kept, in milliseconds. */
  readonly maxAge: number;
  /** How often the history is looked at, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Forgets old revisions in the background, in small steps.
 *
 * @returns a function that ends it.
 */
export function startCompaction(deps: CompactionDeps): () => void {
  let timer: NodeJS.Timeout;
  let stopped = false;
  const again = (delay: number): void => {
    if (!stopped) timer = setTimeout(run, delay).unref();
  };
  const run = async (): Promise<void> => {
    const retention = { count: deps.maxRevisions, notBefore: deps.now() - deps.maxAge };
    try {
      const forgotten = await deps.store.compact(retention, STEP);
      again(forgotten < STEP ? deps.interval : PAUSE);
    } catch (error) {
      if (!stopped) deps.onError(error);
      again(deps.interval);
    }
  };
  again(deps.interval);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
