import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  IncidentClass as ClassProto,
  type Incident as IncidentMessage,
  IncidentSchema,
  IncidentSource as SourceProto,
  IncidentSubject as SubjectProto,
} from "../../gen/mooring/v1/incident_pb.js";
import { createDriverTranslation } from "../drivers/driver-info.ts";
import { invalid } from "../messages/error.ts";
import type { Language, Translate } from "../messages/language.ts";
import { message, type Text, textIn } from "../messages/message.ts";
import { type Coverage, coverageText, oldestListing } from "./coverage.ts";
import {
  adviceOf,
  type IncidentClass,
  type IncidentSource,
  type IncidentSubject,
  itemsToReplace,
  SUBJECTS,
  titleOf,
} from "./incident.ts";
import type { IncidentNames } from "./names.ts";
import type { WatchedIncident } from "./service.ts";

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
export function subjectOf(value: SubjectProto): IncidentSubject | undefined {
  if (value === SubjectProto.UNSPECIFIED) return undefined;
  const subject = SUBJECTS.find((each) => SUBJECT_VALUES[each] === value);
  if (subject !== undefined) return subject;
  throw invalid([
    { field: "subject", description: message("INCIDENT_SUBJECT_UNKNOWN", { value }) },
  ]);
}

/** Converts incidents to messages in a language. */
export function createIncidentMessage(
  language: Language,
  { translate, placeOf }: { readonly translate: Translate } & Pick<IncidentNames, "placeOf">,
): (watched: WatchedIncident) => IncidentMessage {
  const say = (text: Text): string => textIn(text, translate);
  const translateDriver = createDriverTranslation(translate);
  const time = (ms: number) => (ms > 0 ? timestampFromMs(ms) : undefined);
  return ({ incident, site, driver }) => {
    const place = { ...placeOf(incident), site };
    const shownDriver =
      driver === undefined || language === "en" ? driver : translateDriver(driver);
    const items = itemsToReplace(incident.class, shownDriver);
    return create(IncidentSchema, {
      id: incident.id,
      subject: SUBJECT_VALUES[incident.subject],
      name: place.name,
      title: say(titleOf(incident, place)),
      site: say(site),
      mountPath: incident.mountPath,
      driver: incident.driver,
      message: say(incident.message),
      acknowledgedBy: incident.acknowledgedBy,
      note: incident.note,
      class: CLASS_VALUES[incident.class],
      source: SOURCE_VALUES[incident.source],
      action: say(adviceOf(incident, place)),
      items: items.map(({ name, label, description }) => ({ name, label, description })),
      guide: shownDriver?.guide ?? "",
      openTime: time(incident.openedAt),
      changeTime: time(incident.changedAt),
      closeTime: time(incident.closedAt),
      acknowledgeTime: time(incident.acknowledgedAt),
    });
  };
}

/** Maximum number of mounts that a coverage names. */
const MAX_UNLISTED = 100;

/** @param say undefined: there are open incidents. */
export function coverageToProto(
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
      oldestListTime: timestampFromMs(oldestListing(listed)),
    }),
  };
}
