import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Waiting } from "../waiter.ts";
import type { Mount } from "./mount.ts";
import type { Status } from "./status.ts";

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
