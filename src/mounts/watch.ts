import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Watched } from "../records/watch.ts";
import type { Site } from "../sites/site.ts";
import type { Mount } from "./mount.ts";
import type { Status } from "./status.ts";

/** Mount with all that a stream shows of it. The same object until one of the members changes. */
export interface WatchedMount {
  readonly mount: Mount;
  readonly driver: DriverInfo | undefined;
  readonly statuses: readonly Status[];
}

/** All mounts at one time. */
export type WatchedMounts = Watched<WatchedMount, WatchedSource>;

/** Sources of the watched mounts besides their states on sites. */
export interface WatchedSource {
  readonly snapshot: Snapshot;
  readonly sites: readonly Site[];
  /** Identifies the catalogue of drivers. */
  readonly driverNames: Iterable<string>;
}

export function isSameWatched(a: WatchedMount, b: WatchedMount): boolean {
  return a.mount === b.mount && a.driver === b.driver && areEqual(a.statuses, b.statuses);
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
