import { setTimeout as sleep } from "node:timers/promises";
import { MOUNT_LIMIT } from "./site/client.ts";
import type { MountFollow } from "./site/follow.ts";
import type { MountRegistry } from "./site/registry.ts";

/** Maximum number of rounds of a sync. */
const ROUNDS = 3;
/** Interval of reading the results of another process, in milliseconds. */
const LOOK = 200;

/**
 * Pushes mounts to a site on request, and waits for the result. A second round reads the result of
 * the first one to confirm it. If another process follows mounts, this function waits for that
 * process, at most the time limit of one mount.
 *
 * @throws SiteFailure.
 */
export async function syncSite(
  siteId: string,
  names: readonly string[],
  {
    follow,
    registry,
  }: {
    readonly follow: Pick<MountFollow, "ask" | "follow" | "isLeader">;
    readonly registry: Pick<MountRegistry, "load" | "mounts">;
  },
): Promise<void> {
  const isOpen = (name: string): boolean => {
    const state = registry.mounts(siteId).get(name);
    return state === undefined || (state.phase !== "" && state.error === "");
  };
  let open: readonly string[] = names;
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    await follow.ask(siteId, { insist: open, states: {} });
    if (follow.isLeader()) await follow.follow(siteId);
    else
      for (let waited = 0; waited < MOUNT_LIMIT && open.some(isOpen); waited += LOOK) {
        await sleep(LOOK);
        await registry.load();
      }
    open = open.filter(isOpen);
  }
}
