import { unavailable } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import type { Site } from "../sites/site.ts";
import type { Waiting } from "../waiter.ts";
import { type Mount, missingOn } from "./mount.ts";
import type { MountRegistry } from "./site/registry.ts";

/** Status of a mount on a site. */
export interface Status {
  readonly site: string;
  readonly state: "ok" | "waiting" | "differs" | "failing" | "stuck";
  readonly applied: number;
  readonly differs: readonly string[];
  readonly status: string;
  readonly error: Text;
}

/** Status of a mount on a site, from the records of the process that follows mounts. */
export function statusOf(
  mount: Mount,
  site: Site,
  registry: Pick<MountRegistry, "site" | "mounts">,
): Status {
  const state = registry.mounts(site.id).get(mount.name);
  const whole = registry.site(site.id);
  const { applied = 0, differs = [], status = "", error = "", failures = 0 } = state ?? {};
  const base = { site: site.name, applied, differs, status, error: error || whole.error };
  const missing = missingOn(mount, site.name);
  if (missing.length > 0)
    return {
      ...base,
      state: "stuck",
      error: message("MOUNT_INCOMPLETE", { items: missing.join(", ") }),
    };
  if (error !== "") return { ...base, state: failures > 0 ? "failing" : "stuck" };
  if (whole.error !== "") return { ...base, state: "failing" };
  if (applied === mount.revision && differs.length === 0 && state?.phase === "")
    return { ...base, state: "ok" };
  const isPushing = site.mode === "follow" && !site.paused && whole.met;
  return { ...base, state: isPushing ? "waiting" : "differs" };
}

export interface WatchOptions {
  /** Resolves when a mount or its status has changed, and when the stream ends. */
  readonly waiting: Waiting;
  readonly isEnded: () => boolean;
  readonly isStopping: () => boolean;
  /** Mounts that the caller can read. */
  readonly mounts: () => readonly Mount[];
  readonly statuses: (mount: Mount) => readonly Status[];
}

/**
 * Stream of all mounts, then of each changed mount with its statuses. @throws UNAVAILABLE when the
 * service stops.
 */
export async function* watchMounts({
  waiting,
  isEnded,
  isStopping,
  mounts,
  statuses,
}: WatchOptions): AsyncIterable<{
  readonly mounts: readonly Mount[];
  readonly removed: readonly string[];
}> {
  let sent = new Map<string, string>();
  try {
    for (let first = true; ; first = false) {
      if (!first) await waiting.next();
      if (isEnded()) return;
      if (isStopping()) throw unavailable(message("SERVICE_STOPPING"));
      const all = mounts();
      const now = new Map(
        all.map((mount) => [mount.name, JSON.stringify([mount.revision, statuses(mount)])]),
      );
      const changed = all.filter(({ name }) => sent.get(name) !== now.get(name));
      const removed = [...sent.keys()].filter((name) => !now.has(name));
      sent = now;
      if (first || changed.length > 0 || removed.length > 0) yield { mounts: changed, removed };
    }
  } finally {
    waiting.close();
  }
}
