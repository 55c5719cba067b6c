import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Incident as IncidentMessage } from "../../gen/mooring/v1/incident_pb.js";
import {
  AcknowledgeIncidentResponseSchema,
  GetIncidentResponseSchema,
  type IncidentService as IncidentServiceDesc,
  ListIncidentsResponseSchema,
  type WatchIncidentsResponse,
  WatchIncidentsResponseSchema,
} from "../../gen/mooring/v1/incident_service_pb.js";
import { originOf } from "../audit/entry.ts";
import { createView } from "../collection-view.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn, type LanguageOf } from "../messages/localize.ts";
import { message, type Text } from "../messages/message.ts";
import { pageLimit, placeOf, tokenOf } from "../messages/page.ts";
import type { Coverage } from "./coverage.ts";
import { DAY, dayOfDate } from "./days/day.ts";
import { type DaySource, daysImpl } from "./days/rpc.ts";
import type { Incident, IncidentPlace } from "./incident.ts";
import { coverageToProto, createIncidentMessage, subjectOf } from "./message.ts";
import type { IncidentService, WatchedIncident, WatchedIncidents } from "./service.ts";

/** Data of the messages besides incidents. */
export interface IncidentSite extends DaySource {
  readonly incidents: IncidentService;
  siteName(siteId: string): Text;
  driverOf(name: string): DriverInfo | undefined;
  /** Coverage of the mounts of a site; undefined: of all sites. */
  coverage(siteId: string | undefined, signal: AbortSignal): Promise<Coverage>;
  placeOf(incident: Incident): IncidentPlace;
}

/** Implements IncidentService. */
export function incidentImpl(
  source: IncidentSite,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof IncidentServiceDesc> {
  const languageOf = createLanguageOf();
  const sayIn = createSayIn(translations);
  const messageIn = createMessageIn(source, translations);
  const showIn = (context: HandlerContext) => {
    const toMessage = messageIn(languageOf(context, ""));
    return (incident: Incident): IncidentMessage =>
      toMessage({
        incident,
        site: source.siteName(incident.siteId),
        driver: source.driverOf(incident.driver),
      });
  };
  return {
    listIncidents: async (request, context) => {
      const { site, mountPath, subject, closed, date, pageSize, pageToken } = request;
      const limit = pageLimit(pageSize, { beyond: "invalid" });
      const siteId = site === "" ? undefined : (await source.readSites()).named(site).id;
      const before = placeOf(pageToken);
      const found = await source.incidents.list({
        siteId,
        mountPath: mountPath || undefined,
        limit: limit + 1,
        subject: subjectOf(subject),
        open: closed || date !== "" ? undefined : true,
        during: periodOf(date),
        before: before && { openedAt: before.time, id: before.id },
      });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const isEmpty = page.every(({ closedAt }) => closedAt > 0);
      return create(ListIncidentsResponseSchema, {
        incidents: page.map(showIn(context)),
        ...(before === undefined && {
          coverage: coverageToProto(await source.coverage(siteId, context.signal), {
            mountPath,
            say: isEmpty ? sayIn(context) : undefined,
          }),
        }),
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
    ...daysImpl(source, sayIn),
    ...watchImpl(source, messageIn, languageOf),
  };
}

type MessageIn = (language: Language) => ReturnType<typeof createIncidentMessage>;

/** Messages of incidents in each language. */
function createMessageIn(
  { placeOf: place }: IncidentSite,
  translations: (language: Language) => Translate,
): MessageIn {
  return memoize((language: Language) =>
    createIncidentMessage(language, { translate: translations(language), placeOf: place }),
  );
}

/** The method of IncidentService that streams incidents. Streams of one language share messages. */
function watchImpl(
  { incidents }: IncidentSite,
  messageIn: MessageIn,
  languageOf: LanguageOf,
): Pick<ServiceImpl<typeof IncidentServiceDesc>, "watchIncidents"> {
  const viewIn = memoize((language: Language) =>
    createView<WatchedIncidents, WatchedIncident, WatchIncidentsResponse>(
      async ({ changed, removed }) => {
        const ids = removed.map(({ incident }) => incident.id);
        const ended = ids.length === 0 ? [] : await incidents.ended(ids);
        return create(WatchIncidentsResponseSchema, {
          incidents: [...changed, ...ended].map(messageIn(language)),
        });
      },
    ),
  );
  return {
    watchIncidents: (_request, context) =>
      incidents.watch(viewIn(languageOf(context, "")), context.signal),
  };
}

/** Period of a day in UTC. @returns undefined: any. @throws INVALID_ARGUMENT. */
function periodOf(date: string): { readonly from: number; readonly to: number } | undefined {
  if (date === "") return undefined;
  const day = dayOfDate(date);
  if (day === undefined)
    throw invalid([
      { field: "date", description: message("INCIDENT_DATE", { value: date.slice(0, 64) }) },
    ]);
  return { from: day * DAY, to: (day + 1) * DAY };
}
