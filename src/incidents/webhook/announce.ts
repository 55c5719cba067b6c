import { createDriverTranslation, type DriverInfo } from "../../drivers/driver-info.ts";
import type { Language, Translate } from "../../messages/language.ts";
import { message, textIn } from "../../messages/message.ts";
import {
  adviceOf,
  type Incident,
  type IncidentEvent,
  type IncidentPlace,
  itemsToReplace,
  titleOf,
} from "../incident.ts";
import type { JoinDeliveries, StoredDelivery } from "../store.ts";
import { type DigestEvent, joinEvents } from "./digest.ts";
import { type Webhook, wantsClass } from "./input.ts";

/**
 * Time for which the notification of an opened or closed incident waits for others of its cause, in
 * milliseconds: they are sent as one.
 */
export const DIGEST_WINDOW = 10_000;

export interface AnnounceDeps {
  readonly webhooks: () => readonly Webhook[];
  readonly placeOf: (incident: Incident) => IncidentPlace;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly translations: (language: Language) => Translate;
  readonly now: () => number;
  readonly newId: () => string;
  /** Milliseconds; `DIGEST_WINDOW` by default. */
  readonly digestWindow?: number | undefined;
}

/** Notifications of changes of incidents. */
export interface Announcer {
  /** One for each enabled webhook whose filters match. */
  readonly announce: (event: IncidentEvent, incident: Incident) => StoredDelivery[];
  readonly join: JoinDeliveries;
}

export function createAnnounce(deps: AnnounceDeps): Announcer {
  const { now, digestWindow = DIGEST_WINDOW } = deps;
  const announce: Announcer["announce"] = (event, incident) => {
    // Of an acknowledgement, a person waits for the notice; each is a decision of its own.
    const isJoined = event === "opened" || event === "closed";
    const type = `incident.${event}`;
    return deps
      .webhooks()
      .filter((webhook) => wants(webhook, incident))
      .map(({ id: webhookId, language }) => ({
        id: deps.newId(),
        webhookId,
        incidentId: incident.id,
        type,
        cause: isJoined ? `${type} ${incident.class} ${incident.siteId}` : "",
        body: JSON.stringify({
          type,
          timestamp: new Date(now()).toISOString(),
          data: dataOf(event, incident, { ...deps, language: language as Language }),
        } satisfies DigestEvent),
        createdAt: now(),
        nextTry: now() + (isJoined ? digestWindow : 0),
        attempts: 0,
        status: 0,
        error: "",
        state: "waiting",
      }));
  };
  return {
    announce,
    join: (waiting, added) => {
      if (waiting.nextTry <= now()) return undefined;
      const language = deps.webhooks().find(({ id }) => id === waiting.webhookId)?.language;
      const translate = deps.translations((language ?? "en") as Language);
      return { ...waiting, ...joinEvents(waiting.body, added.body, translate) };
    },
  };
}

function wants({ disabled, siteIds, ...webhook }: Webhook, incident: Incident): boolean {
  return (
    !disabled &&
    wantsClass(webhook, incident.class) &&
    (siteIds.length === 0 || siteIds.includes(incident.siteId))
  );
}

/** Members of an incident in a notification. */
function dataOf(
  event: IncidentEvent,
  incident: Incident,
  {
    placeOf,
    driverOf,
    translations,
    language,
  }: Pick<AnnounceDeps, "placeOf" | "driverOf" | "translations"> & { readonly language: Language },
) {
  const translate = translations(language);
  const place = placeOf(incident);
  const driver = driverIn(driverOf(incident.driver), { language, translate });
  const action = adviceOf(incident, place).in(translate);
  const problem = textIn(incident.message, translate);
  return {
    ...textsOf(event, incident, { place, translate, action, problem }),
    id: incident.id,
    subject: incident.subject,
    site: textIn(place.site, translate),
    mount_path: incident.mountPath,
    ...(incident.name !== "" && { name: place.name }),
    driver: incident.driver,
    class: incident.class,
    source: incident.source,
    message: problem,
    action,
    items: itemsToReplace(incident.class, driver).map(({ name, label, description }) => ({
      name,
      label,
      description,
    })),
    ...(driver !== undefined && driver.guide !== "" && { guide: driver.guide }),
    open_time: timeOf(incident.openedAt),
    change_time: timeOf(incident.changedAt),
    close_time: timeOf(incident.closedAt),
    ...(event === "closed" && { duration: durationOf(incident) }),
    acknowledge_time: timeOf(incident.acknowledgedAt),
    ...(incident.acknowledgedAt > 0 && {
      acknowledged_by: incident.acknowledgedBy,
      note: incident.note,
    }),
  };
}

/** Title and text for people, which the formats of services send. */
function textsOf(
  event: IncidentEvent,
  incident: Incident,
  {
    place,
    translate,
    action,
    problem,
  }: {
    readonly place: IncidentPlace;
    readonly translate: Translate;
    readonly action: string;
    readonly problem: string;
  },
): { readonly title: string; readonly text: string } {
  const title = titleOf(incident, place);
  switch (event) {
    case "opened":
      return { title: title.in(translate), text: `${problem}\n${action}` };
    case "changed":
      return {
        title: message("INCIDENT_CHANGED", { title }).in(translate),
        text: `${problem}\n${action}`,
      };
    case "acknowledged":
      return {
        title: message("INCIDENT_ACKNOWLEDGED", { title }).in(translate),
        text: [incident.acknowledgedBy, incident.note].filter((each) => each !== "").join(": "),
      };
    case "closed":
      return {
        title: message("INCIDENT_RESOLVED", { title }).in(translate),
        text: message("INCIDENT_LASTED", { problem, duration: durationOf(incident) }).in(translate),
      };
  }
}

function driverIn(
  driver: DriverInfo | undefined,
  { language, translate }: { readonly language: Language; readonly translate: Translate },
): DriverInfo | undefined {
  if (driver === undefined || language === "en") return driver;
  return createDriverTranslation(translate)(driver);
}

/** Time for which a closed incident was open, such as `4 s`, in the largest unit that fits twice. */
function durationOf({ openedAt, closedAt }: Incident): string {
  const seconds = Math.max(0, Math.round((closedAt - openedAt) / 1_000));
  const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.floor(seconds / length)} ${unit}`;
}

/** Units of durations, in seconds. */
const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

function timeOf(ms: number): string | undefined {
  return ms === 0 ? undefined : new Date(ms).toISOString();
}
