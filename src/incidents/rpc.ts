import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  IncidentClass as ClassProto,
  type Incident as IncidentMessage,
  IncidentSchema,
  IncidentSource as SourceProto,
} from "../../gen/mooring/v1/incident_pb.js";
import {
  AcknowledgeIncidentResponseSchema,
  GetIncidentResponseSchema,
  type IncidentService as IncidentServiceDesc,
  ListIncidentsResponseSchema,
  WatchIncidentsResponseSchema,
} from "../../gen/mooring/v1/incident_service_pb.js";
import { originOf } from "../audit/entry.ts";
import { createDriverTranslation, type DriverInfo } from "../drivers/driver-info.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message, type Text } from "../messages/message.ts";
import { pageLimit, placeOf, tokenOf } from "../messages/page.ts";
import type { SiteNames } from "../sites/site-names.ts";
import {
  actionOf,
  type Incident,
  type IncidentClass,
  type IncidentSource,
  itemsToReplace,
} from "./incident.ts";
import type { IncidentService } from "./service.ts";

/** Data of the messages besides incidents. */
export interface IncidentSite {
  readonly incidents: IncidentService;
  siteName(siteId: string): string;
  /** Names of sites, with those that another process has just created. */
  readSites(): Promise<SiteNames>;
  driverOf(name: string): DriverInfo | undefined;
}

/** Implements IncidentService. */
export function incidentImpl(
  source: IncidentSite,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof IncidentServiceDesc> {
  const languageOf = createLanguageOf();
  const sayIn = createSayIn(translations);
  const driverTranslation = memoize((language: Language) =>
    createDriverTranslation(translations(language)),
  );
  const showIn = (context: HandlerContext) => {
    const say = sayIn(context);
    const language = languageOf(context, "");
    return (incident: Incident): IncidentMessage => {
      const found = source.driverOf(incident.driver);
      const driver =
        found === undefined || language === "en" ? found : driverTranslation(language)(found);
      return incidentToProto(incident, source.siteName(incident.siteId), driver, say);
    };
  };
  return {
    listIncidents: async ({ site, mountPath, closed, pageSize, pageToken }, context) => {
      const limit = pageLimit(pageSize, { beyond: "invalid" });
      const siteId = site === "" ? undefined : (await source.readSites()).named(site).id;
      const before = placeOf(pageToken);
      const found = await source.incidents.list({
        siteId,
        mountPath: mountPath || undefined,
        limit: limit + 1,
        open: closed ? undefined : true,
        before: before && { openedAt: before.time, id: before.id },
      });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return create(ListIncidentsResponseSchema, {
        incidents: page.map(showIn(context)),
        nextPageToken:
          found.length > limit && last !== undefined ? tokenOf(last.openedAt, last.id) : "",
      });
    },
    getIncident: async ({ id }, context) =>
      create(GetIncidentResponseSchema, {
        incident: showIn(context)(await source.incidents.get(id)),
      }),
    acknowledgeIncident: async ({ id, note }, context) => {
      if (id === "")
        throw invalid([{ field: "id", description: message("FIELD_MISSING", { field: "id" }) }]);
      const incident = await source.incidents.acknowledge(id, note, originOf(context));
      return create(AcknowledgeIncidentResponseSchema, { incident: showIn(context)(incident) });
    },
    watchIncidents: async function* (_request, context) {
      const show = showIn(context);
      for await (const incidents of source.incidents.watch(context.signal))
        yield create(WatchIncidentsResponseSchema, { incidents: incidents.map(show) });
    },
  };
}

export const CLASS_VALUES: Readonly<Record<IncidentClass, ClassProto>> = {
  credential: ClassProto.CREDENTIAL,
  person: ClassProto.PERSON,
  quota: ClassProto.QUOTA,
  network: ClassProto.NETWORK,
  configuration: ClassProto.CONFIGURATION,
  unknown: ClassProto.UNKNOWN,
};

const SOURCE_VALUES: Readonly<Record<IncidentSource, SourceProto>> = {
  status: SourceProto.STATUS,
  probe: SourceProto.PROBE,
  expiry: SourceProto.EXPIRY,
};

function incidentToProto(
  incident: Incident,
  site: string,
  driver: DriverInfo | undefined,
  say: (text: Text) => string,
): IncidentMessage {
  const time = (ms: number) => (ms > 0 ? timestampFromMs(ms) : undefined);
  const { id, mountPath, message, acknowledgedBy, note } = incident;
  return create(IncidentSchema, {
    id,
    site,
    mountPath,
    driver: incident.driver,
    message,
    acknowledgedBy,
    note,
    class: CLASS_VALUES[incident.class],
    source: SOURCE_VALUES[incident.source],
    action: say(actionOf(incident.class)),
    items: itemsToReplace(incident.class, driver).map(({ name, label, description }) => ({
      name,
      label,
      description,
    })),
    guide: driver?.guide ?? "",
    openTime: time(incident.openedAt),
    changeTime: time(incident.changedAt),
    closeTime: time(incident.closedAt),
    acknowledgeTime: time(incident.acknowledgedAt),
  });
}
