import type { Incident } from "./incident.ts";
import { MAX_OPEN } from "./open-incidents.ts";
import { keyOf } from "./registry.ts";
import type { IncidentStore } from "./store.ts";

/** Open incidents of mounts as another process has stored them. */
export interface StoredIncidents {
  /** Reads them again. */
  read(): Promise<void>;
  at(siteId: string, path: string): Incident | undefined;
}

/** @param changed - called when others are open than before, or one has changed. */
export function createStoredIncidents(
  store: Pick<IncidentStore, "list">,
  changed: () => void,
): StoredIncidents {
  let incidents: ReadonlyMap<string, Incident> = new Map();
  return {
    read: async () => {
      const open = await store.list({ open: true, subject: "mount", limit: MAX_OPEN });
      const isSame = versionsOf(open) === versionsOf(incidents.values());
      incidents = new Map(open.map((each) => [keyOf(each.siteId, each.mountPath), each]));
      if (!isSame) changed();
    },
    at: (siteId, path) => incidents.get(keyOf(siteId, path)),
  };
}

function versionsOf(incidents: Iterable<Incident>): string {
  return JSON.stringify(Array.from(incidents, ({ id, changedAt }) => [id, changedAt]));
}
