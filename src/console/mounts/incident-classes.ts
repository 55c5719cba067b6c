import { IncidentClass } from "../../../gen/mooring/v1/incident_pb.js";
import type { MessageKey } from "../i18n/messages.ts";

/** Names of the classes of incidents, in the order of the documentation; UNSPECIFIED has none. */
export const CLASSES: Partial<Record<IncidentClass, MessageKey>> = {
  [IncidentClass.CREDENTIAL]: "incident.credential",
  [IncidentClass.PERSON]: "incident.person",
  [IncidentClass.GONE]: "incident.gone",
  [IncidentClass.QUOTA]: "incident.quota",
  [IncidentClass.NETWORK]: "incident.network",
  [IncidentClass.CONFIGURATION]: "incident.configuration",
  [IncidentClass.UNKNOWN]: "incident.unknown",
};
