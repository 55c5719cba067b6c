import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import type { Collection } from "../collection-view.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { failedPrecondition, invalid, notFound, unavailable } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { createStateFeed, type View } from "../state-feed.ts";
import type { Incident, IncidentEvent } from "./incident.ts";
import type { IncidentFilter, IncidentStore, StoredDelivery } from "./store.ts";

/** Maximum number of open incidents in a stream. */
const MAX_WATCHED = 1_000;
/** Interval of reading the writes of other processes for all streams, in milliseconds. */
const READ_INTERVAL = 1_000;
const MAX_NOTE = 500;

export interface IncidentServiceDeps {
  readonly store: IncidentStore;
  readonly now: () => number;
  readonly announce: (event: IncidentEvent, incident: Incident) => readonly StoredDelivery[];
  readonly siteName: (siteId: string) => Text;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Aborted when streams are to end. */
  readonly stopping: AbortSignal;
  /** Interval of reading incidents while there are streams, in milliseconds. */
  readonly readInterval?: number | undefined;
}

/** Open incident with all that a stream shows of it. The same object until one member changes. */
export interface WatchedIncident {
  readonly incident: Incident;
  readonly site: Text;
  readonly driver: DriverInfo | undefined;
}

/** Newest open incidents, by their ids. */
export type WatchedIncidents = Collection<WatchedIncident>;

/** Reads incidents, in any process. */
export interface IncidentService {
  /** Newest first. */
  list(filter: IncidentFilter): Promise<readonly Incident[]>;
  /** @throws NOT_FOUND. */
  get(id: string): Promise<Incident>;
  /** @throws NOT_FOUND; FAILED_PRECONDITION when it is closed; INVALID_ARGUMENT for a long note. */
  acknowledge(id: string, note: string, origin: AuditOrigin): Promise<Incident>;
  /**
   * Streams the open incidents, then each changed or closed one. One reader of the database serves
   * all streams. @throws UNAVAILABLE at shutdown.
   */
  watch<M>(view: View<WatchedIncidents, M>, signal: AbortSignal): AsyncIterable<M>;
  /** Incidents that are no longer watched: closed ones, and the oldest if there are too many. */
  ended(ids: readonly string[]): Promise<readonly WatchedIncident[]>;
  /** Wakes streams after a change by this process. */
  changed(): void;
}

export function createIncidentService(deps: IncidentServiceDeps): IncidentService {
  const { store, now } = deps;
  const shown = (incident: Incident): WatchedIncident => ({
    incident,
    site: deps.siteName(incident.siteId),
    driver: deps.driverOf(incident.driver),
  });
  const feed = createStateFeed<WatchedIncidents>({
    read: async (before) => {
      const open = await store.list({ open: true, limit: MAX_WATCHED });
      return withUnchanged(before, open.map(shown));
    },
    interval: deps.readInterval ?? READ_INTERVAL,
    stopping: deps.stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
  const get = async (id: string) => {
    const found = await store.get(id);
    if (found !== undefined) return found;
    throw notFound(message("INCIDENT_NOT_FOUND", { id: id.slice(0, 64) }));
  };
  return {
    list: store.list,
    get,
    acknowledge: async (id, note, origin) => {
      if (note.length > MAX_NOTE)
        throw invalid([
          { field: "note", description: message("NOTE_TOO_LONG", { most: MAX_NOTE }) },
        ]);
      // Read again after a change by the process that follows the site.
      for (;;) {
        const before = await get(id);
        if (before.closedAt > 0) throw failedPrecondition(message("INCIDENT_CLOSED", { id }));
        const after = { ...before, note, acknowledgedAt: now(), acknowledgedBy: origin.actor };
        const subjects = [String(deps.siteName(before.siteId)), before.mountPath];
        const isStored = await store.acknowledge(after, deps.announce("acknowledged", after), [
          doneEntry(origin, now(), subjects, { incident: id }),
        ]);
        if (!isStored) continue;
        feed.changed();
        return after;
      }
    },
    watch: feed.watch,
    ended: async (ids) => (await store.list({ ids, limit: ids.length })).map(shown),
    changed: feed.changed,
  };
}

/** Keeps the objects of unchanged incidents. @returns `before` when none has changed. */
function withUnchanged(
  before: WatchedIncidents | undefined,
  open: readonly WatchedIncident[],
): WatchedIncidents {
  const items = new Map(
    open.map((item) => {
      const old = before?.items.get(item.incident.id);
      return [item.incident.id, old !== undefined && isSame(old, item) ? old : item];
    }),
  );
  const isUnchanged =
    before?.items.size === items.size &&
    [...items].every(([id, item]) => before.items.get(id) === item);
  return isUnchanged ? before : { items };
}

function isSame(a: WatchedIncident, b: WatchedIncident): boolean {
  return (
    a.site === b.site &&
    a.driver === b.driver &&
    a.incident.changedAt === b.incident.changedAt &&
    a.incident.class === b.incident.class &&
    a.incident.message === b.incident.message &&
    a.incident.acknowledgedAt === b.incident.acknowledgedAt &&
    a.incident.note === b.incident.note
  );
}
