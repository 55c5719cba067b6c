import type { DayRecorder } from "./days/recorder.ts";
import type { IncidentRegistry } from "./registry.ts";
import type { WatchCondition } from "./watch-condition.ts";

export interface LeadershipDeps {
  /** Whether this process has the lease of the work on sites. */
  readonly isLeader: () => boolean;
  readonly registry: Pick<IncidentRegistry, "load">;
  readonly days: Pick<DayRecorder, "load">;
  readonly watching: Pick<WatchCondition, "reset">;
}

/**
 * Reports whether this process opens and closes incidents. Once it has the lease, it first loads the
 * incidents and days of the process that had it before.
 */
export function createLeadership({
  isLeader,
  registry,
  days,
  watching,
}: LeadershipDeps): () => Promise<boolean> {
  let loading: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    await Promise.all([registry.load(), days.load()]);
  };
  return async () => {
    if (!isLeader()) {
      loading = undefined;
      watching.reset();
      return false;
    }
    loading ??= load();
    try {
      await loading;
    } catch (error) {
      loading = undefined;
      throw error;
    }
    return true;
  };
}
