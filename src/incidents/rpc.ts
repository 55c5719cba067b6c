import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  IncidentClass as ClassProto,
  type Incident as IncidentMessage,
  IncidentSchema,
  IncidentSource as SourceProto,
  IncidentSubject as SubjectProto,
} from "../../gen/mooring/v1/incident_pb.js";
import {
  AcknowledgeIncidentResponseSchema,
  GetIncidentResponseSchema,
  type IncidentService as IncidentServiceDesc,
  ListDaysResponseSchema,
  ListIncidentsResponseSchema,
  type WatchIncidentsResponse,
  WatchIncidentsResponseSchema,
} from "../../gen/mooring/v1/incident_service_pb.js";
import { originOf } from "../audit/entry.ts";
import { createDriverTranslation, type DriverInfo } from "../drivers/driver-info.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf, createSayIn } from "../messages/localize.ts";
import { message, type Text, textIn } from "../messages/message.ts";
import { invalidPageToken, pageLimit, placeOf, tokenOf } from "../messages/page.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createView } from "../state-feed.ts";
import { type Coverage, coverageText } from "./coverage.ts";
import { DAY, dateOf, dayOfDate } from "./days/day.ts";
import type { DayService, Strip, StripPlace } from "./days/service.ts";
import {
  adviceOf,
  type Incident,
  type IncidentClass,
  type IncidentPlace,
  type IncidentSource,
  type IncidentSubject,
  itemsToReplace,
  SUBJECTS,
  titleOf,
} from "./incident.ts";
import type { IncidentService, WatchedIncident, WatchedIncidents } from "./service.ts";

/** Data of the messages besides incidents. */
export interface IncidentSite {
  readonly incidents: IncidentService;
  readonly days: DayService;
  siteName(siteId: string): Text;
  /** Names of sites, with those that another process has just created. */
  readSites(): Promise<SiteNames>;
  driverOf(name: string): DriverInfo | undefined;
  /** Coverage of the mounts of a site; undefined: of all sites. */
  coverage(siteId: string | undefined): Coverage;
  placeOf(incident: Incident): IncidentPlace;
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
    const show = showOf(languageOf(context, ""));
    return (incident: Incident): IncidentMessage =>
      show({
        incident,
        site: source.siteName(incident.siteId),
        driver: source.driverOf(incident.driver),
      });
  };
  const showOf = memoize((language: Language) => {
    const translate = translations(language);
    const say = (text: Text): string => textIn(text, translate);
    return ({ incident, site, driver }: WatchedIncident): IncidentMessage => {
      const place = { ...source.placeOf(incident), site };
      return incidentToProto(incident, {
        place,
        site: say(site),
        title: say(titleOf(incident, place)),
        message: say(incident.message),
        action: say(adviceOf(incident, place)),
        driver:
          driver === undefined || language === "en" ? driver : driverTranslation(language)(driver),
      });
    };
  });
  const viewIn = memoize((language: Language) =>
    createView<WatchedIncidents, WatchedIncident, WatchIncidentsResponse>(
      async ({ changed, removed }) => {
        const ids = removed.map(({ incident }) => incident.id);
        const ended = ids.length === 0 ? [] : await source.incidents.ended(ids);
        return create(WatchIncidentsResponseSchema, {
          incidents: [...changed, ...ended].map(showOf(language)),
        });
      },
    ),
  );
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
          coverage: coverageToProto(source.coverage(siteId), {
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
    listDays: async ({ site, mountPath, subject, failed, pageSize, pageToken }, context) => {
      const limit = pageLimit(pageSize, { most: MAX_STRIPS });
      const found = await source.days.list(
        {
          siteId: site === "" ? undefined : (await source.readSites()).named(site).id,
          path: mountPath || undefined,
          subject: stripSubject(subject),
          failed,
          after: stripPlace(pageToken),
          limit: limit + 1,
        },
        context.signal,
      );
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const say = sayIn(context);
      return create(ListDaysResponseSchema, {
        strips: page.map((strip) => stripToProto(strip, say)),
        nextPageToken: found.length > limit && last !== undefined ? stripToken(last) : "",
      });
    },
    acknowledgeIncident: async ({ id, note }, context) => {
      if (id === "")
        throw invalid([{ field: "id", description: message("FIELD_MISSING", { field: "id" }) }]);
      const incident = await source.incidents.acknowledge(id, note, originOf(context));
      return create(AcknowledgeIncidentResponseSchema, { incident: showIn(context)(incident) });
    },
    watchIncidents: (_request, context) =>
      source.incidents.watch(viewIn(languageOf(context, "")), context.signal),
  };
}

export const CLASS_VALUES: Readonly<Record<IncidentClass, ClassProto>> = {
  credential: ClassProto.CREDENTIAL,
  person: ClassProto.PERSON,
  gone: ClassProto.GONE,
  quota: ClassProto.QUOTA,
  network: ClassProto.NETWORK,
  configuration: ClassProto.CONFIGURATION,
  unknown: ClassProto.UNKNOWN,
};

const SOURCE_VALUES: Readonly<Record<IncidentSource, SourceProto>> = {
  status: SourceProto.STATUS,
  probe: SourceProto.PROBE,
  expiry: SourceProto.EXPIRY,
  contact: SourceProto.CONTACT,
  backup: SourceProto.BACKUP,
};

const SUBJECT_VALUES: Readonly<Record<IncidentSubject, SubjectProto>> = {
  mount: SubjectProto.MOUNT,
  site: SubjectProto.SITE,
  token: SubjectProto.TOKEN,
  backup: SubjectProto.BACKUP,
};

/** @returns undefined: any. @throws INVALID_ARGUMENT. */
function subjectOf(value: SubjectProto): IncidentSubject | undefined {
  if (value === SubjectProto.UNSPECIFIED) return undefined;
  const subject = SUBJECTS.find((each) => SUBJECT_VALUES[each] === value);
  if (subject !== undefined) return subject;
  throw invalid([
    { field: "subject", description: message("INCIDENT_SUBJECT_UNKNOWN", { value }) },
  ]);
}

/** Kind of strips. @throws INVALID_ARGUMENT: tokens and backups have none. */
function stripSubject(value: SubjectProto): "site" | "mount" | undefined {
  const subject = subjectOf(value);
  if (subject === undefined || subject === "site" || subject === "mount") return subject;
  throw invalid([{ field: "subject", description: message("SUBJECT_WITHOUT_DAYS") }]);
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

/** Maximum number of strips of a page: a strip is about 3 kB as JSON. */
const MAX_STRIPS = 200;

function stripToken({ site, path }: StripPlace): string {
  return Buffer.from(JSON.stringify([site, path])).toString("base64url");
}

/** Place of a page token; undefined: the beginning. @throws INVALID_ARGUMENT. */
function stripPlace(token: string): StripPlace | undefined {
  if (token === "") return undefined;
  try {
    const place: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    const [site, path] = Array.isArray(place) ? (place as unknown[]) : [];
    if (typeof site === "string" && typeof path === "string") return { site, path };
  } catch {
    // Reported below.
  }
  throw invalidPageToken();
}

function stripToProto({ site, path, days }: Strip, say: (text: Text) => string) {
  return {
    site,
    mountPath: path,
    days: days.map(({ day, worked, failed, unmonitored, reason }) => ({
      date: dateOf(day),
      workedSeconds: worked,
      failedSeconds: failed,
      unmonitoredSeconds: unmonitored,
      reason: say(reason),
    })),
  };
}

/** Maximum number of mounts that a coverage names. */
const MAX_UNLISTED = 100;

/** @param say undefined: there are open incidents. */
function coverageToProto(
  coverage: Coverage,
  {
    mountPath,
    say,
  }: { readonly mountPath: string; readonly say: ((text: Text) => string) | undefined },
) {
  const mounts = coverage.mounts.filter(({ path }) => mountPath === "" || path === mountPath);
  const listed = mounts.filter(({ listedAt }) => listedAt > 0);
  const unlisted = mounts.filter(({ listedAt }) => listedAt === 0);
  const sentences = say === undefined ? [] : coverageText({ ...coverage, mounts }).map(say);
  return {
    mounts: mounts.length,
    listed: listed.length,
    unlisted: unlisted.slice(0, MAX_UNLISTED).map(({ site, path }) => `${site} ${path}`),
    unreadSites: coverage.unread.map(({ site }) => site),
    text: sentences.join(" "),
    ...(listed.length > 0 && {
      oldestListTime: timestampFromMs(Math.min(...listed.map(({ listedAt }) => listedAt))),
    }),
  };
}

function incidentToProto(
  incident: Incident,
  {
    place,
    site,
    title,
    message,
    action,
    driver,
  }: {
    readonly place: IncidentPlace;
    readonly site: string;
    readonly title: string;
    readonly message: string;
    readonly action: string;
    readonly driver: DriverInfo | undefined;
  },
): IncidentMessage {
  const time = (ms: number) => (ms > 0 ? timestampFromMs(ms) : undefined);
  const { id, mountPath, acknowledgedBy, note } = incident;
  return create(IncidentSchema, {
    id,
    subject: SUBJECT_VALUES[incident.subject],
    name: place.name,
    title,
    site,
    mountPath,
    driver: incident.driver,
    message,
    acknowledgedBy,
    note,
    class: CLASS_VALUES[incident.class],
    source: SOURCE_VALUES[incident.source],
    action,
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
