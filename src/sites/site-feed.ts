import type { Ledger } from "../ledger/ledger.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createStateFeed, type StateFeed } from "../state-feed.ts";
import type { SiteView } from "./site.ts";
import type { WatchedSites } from "./site-service.ts";

/** Streams of the states of all sites. */
export function createSiteFeed(
  {
    ledger,
    stopping,
  }: { readonly ledger: Pick<Ledger, "snapshot">; readonly stopping: AbortSignal },
  list: () => readonly SiteView[],
): StateFeed<WatchedSites> {
  return createStateFeed<WatchedSites>({
    read: (before) => readSites(before, list(), ledger.snapshot()),
    isCurrent: ({ snapshot }) => snapshot === ledger.snapshot(),
    stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
}

/**
 * Sites by name, so that a renamed one is removed by its old name. Keeps the objects of unchanged
 * sites.
 *
 * @returns `before` when nothing has changed.
 */
function readSites(
  before: WatchedSites | undefined,
  views: readonly SiteView[],
  snapshot: Snapshot,
): WatchedSites {
  const items = new Map(
    views.map((view) => {
      const old = before?.items.get(view.site.name);
      const isSame =
        old?.site === view.site &&
        old.state === view.state &&
        view.records.every((each, at) => each === old.records[at]);
      return [view.site.name, isSame ? old : view];
    }),
  );
  const isUnchanged =
    before?.snapshot === snapshot &&
    before.items.size === items.size &&
    [...items].every(([name, view]) => before.items.get(name) === view);
  return isUnchanged ? before : { items, snapshot };
}
