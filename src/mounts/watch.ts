import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Site } from "../sites/site.ts";
import { isOnSite } from "../sites/site-choice.ts";
import type { Collection } from "../state-feed.ts";
import { createTicks } from "../ticks.ts";
import type { Mount } from "./mount.ts";
import { type Status, type StatusSources, statusOf } from "./status.ts";

/** Mount with all that a stream shows of it. The same object until one of the members changes. */
export interface WatchedMount {
  readonly mount: Mount;
  readonly driver: DriverInfo | undefined;
  readonly statuses: readonly Status[];
}

/** All mounts at one time. */
export interface WatchedMounts extends Collection<WatchedMount> {
  /** State from which it was built, besides the states of mounts on sites. */
  readonly source: WatchedSource;
}

/** Sources of the watched mounts, compared by identity: each is the same object until it changes. */
export interface WatchedSource {
  readonly snapshot: Snapshot;
  readonly sites: readonly Site[];
  /** Identifies the catalogue of drivers. */
  readonly driverNames: Iterable<string>;
}

export function isSameSource(a: WatchedSource, b: WatchedSource): boolean {
  return a.snapshot === b.snapshot && a.sites === b.sites && a.driverNames === b.driverNames;
}

export interface WatchedMountsDeps {
  readonly source: () => WatchedSource;
  readonly mounts: () => ReadonlyMap<string, Mount>;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly sources: StatusSources;
}

/** Reads all mounts with their statuses, in ticks of the event loop. Unchanged items are kept. */
export async function readWatched(
  before: WatchedMounts | undefined,
  { source, mounts, driverOf, sources }: WatchedMountsDeps,
): Promise<WatchedMounts> {
  const from = source();
  const ticks = createTicks();
  const items = new Map<string, WatchedMount>();
  const all = mounts();
  let isSame = before !== undefined && before.items.size === all.size;
  for (const [name, mount] of all) {
    if (ticks.isDue()) await ticks.next();
    const old = before?.items.get(name);
    const driver = driverOf(mount.driver);
    const statuses = from.sites
      .filter((site) => isOnSite(mount, site.id))
      .map((site) => statusOf(mount, site, sources));
    const isKept =
      old !== undefined &&
      old.mount === mount &&
      old.driver === driver &&
      areEqual(old.statuses, statuses);
    items.set(name, isKept ? old : { mount, driver, statuses });
    isSame &&= isKept;
  }
  if (before !== undefined && isSame && isSameSource(before.source, from)) return before;
  return { items, source: from };
}

function areEqual(a: readonly Status[], b: readonly Status[]): boolean {
  return a.length === b.length && a.every((status, at) => isSameStatus(status, b[at]));
}

/** Reports whether statuses are equal, apart from the time of the last read, which is no event. */
function isSameStatus(a: Status, b: Status | undefined): boolean {
  return (
    b !== undefined &&
    a.site === b.site &&
    a.state === b.state &&
    a.agrees === b.agrees &&
    a.since === b.since &&
    a.listedAt === b.listedAt &&
    a.applied === b.applied &&
    a.status === b.status &&
    String(a.cause) === String(b.cause) &&
    String(a.remedy) === String(b.remedy) &&
    a.differs.length === b.differs.length &&
    a.differs.every((name, at) => name === b.differs[at])
  );
}
