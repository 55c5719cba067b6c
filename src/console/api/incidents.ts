import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { Incident } from "../../../gen/mooring/v1/incident_pb.js";
import { IncidentService } from "../../../gen/mooring/v1/incident_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { transport } from "./client.ts";
import { followCalls } from "./follow.ts";
import { may } from "./rights.ts";
import { session } from "./session.ts";

export const incidentService = createClient(IncidentService, transport);

/** Open incidents, as last received. */
export const incidents = signal<readonly Incident[]>([]);

session.subscribe((now) => {
  if (now === undefined) incidents.value = [];
});

/** Follows open incidents until the signal is aborted. No-op without the scope incidents:read. */
export async function followIncidents(signal: AbortSignal): Promise<void> {
  if (!may("incidents:read")) return;
  for await (const open of followCalls({ open: readIncidents, signal })) incidents.value = open;
}

async function* readIncidents(_: undefined, options: StreamOptions) {
  const known = new Map<string, Incident>();
  for await (const { incidents: changed } of incidentService.watchIncidents({}, options)) {
    for (const incident of changed)
      if (incident.closeTime === undefined) known.set(incident.id, incident);
      else known.delete(incident.id);
    yield [...known.values()];
  }
}
