import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import { failedPrecondition, invalid, notFound, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createWaiter } from "../waiter.ts";
import type { Incident, IncidentEvent } from "./incident.ts";
import type { IncidentFilter, IncidentStore, StoredDelivery } from "./store.ts";

/** Maximum number of open incidents in a stream. */
const MAX_WATCHED = 1_000;
/** Interval at which streams read the writes of other processes, in milliseconds. */
const LOOK = 1_000;
const MAX_NOTE = 500;

export interface IncidentServiceDeps {
  readonly store: IncidentStore;
  readonly now: () => number;
  readonly announce: (event: IncidentEvent, incident: Incident) => readonly StoredDelivery[];
  /** Aborted when streams are to end. */
  readonly stopping: AbortSignal;
  /** Polling interval of a stream, in milliseconds. */
  readonly look?: number | undefined;
}

/** Reads incidents, in any process. */
export interface IncidentService {
  /** Newest first. */
  list(filter: IncidentFilter): Promise<readonly Incident[]>;
  /** @throws NOT_FOUND. */
  get(id: string): Promise<Incident>;
  /** @throws NOT_FOUND; FAILED_PRECONDITION when it is closed; INVALID_ARGUMENT for a long note. */
  acknowledge(id: string, note: string, origin: AuditOrigin): Promise<Incident>;
  /** All open incidents, then each changed or closed one. @throws UNAVAILABLE at shutdown. */
  watch(signal: AbortSignal): AsyncIterable<readonly Incident[]>;
  /** Wakes streams after a change by this process. */
  changed(): void;
}

export function createIncidentService(deps: IncidentServiceDeps): IncidentService {
  const { store, now, stopping, look = LOOK } = deps;
  const waiter = createWaiter();
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
        const subjects = [before.siteId, before.mountPath];
        const isStored = await store.acknowledge(after, deps.announce("acknowledged", after), [
          doneEntry(origin, now(), subjects, { incident: id }),
        ]);
        if (!isStored) continue;
        waiter.notify();
        return after;
      }
    },
    async *watch(signal) {
      let sent = new Map<string, Incident>();
      const waiting = waiter.join([signal, stopping]);
      try {
        for (let first = true; ; first = false) {
          if (!first) await waiting.next(look);
          if (signal.aborted) return;
          if (stopping.aborted) throw unavailable(message("SERVICE_STOPPING"));
          const open = await store.list({ open: true, limit: MAX_WATCHED });
          const ids = new Set(open.map(({ id }) => id));
          const ended = [...sent.keys()].filter((id) => !ids.has(id));
          const closed = (await Promise.all(ended.map(store.get))).filter(
            (each) => each !== undefined,
          );
          const changed = open.filter((each) => versionOf(sent.get(each.id)) !== versionOf(each));
          sent = new Map(open.map((each) => [each.id, each]));
          if (first || changed.length > 0 || closed.length > 0) yield [...changed, ...closed];
        }
      } finally {
        waiting.close();
      }
    },
    changed: waiter.notify,
  };
}

function versionOf(incident: Incident | undefined): string {
  return incident === undefined
    ? ""
    : `${incident.changedAt} ${incident.acknowledgedAt} ${incident.note}`;
}
