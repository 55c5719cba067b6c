import { createDriverTranslation, type DriverInfo } from "../drivers/driver-info.ts";
import type { Language, Translate } from "../messages/language.ts";
import { actionOf, type Incident, type IncidentEvent, itemsToReplace } from "./incident.ts";
import type { StoredDelivery } from "./store.ts";
import type { Webhook } from "./webhook/input.ts";

export interface AnnounceDeps {
  readonly webhooks: () => readonly Webhook[];
  readonly siteName: (siteId: string) => string;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly translations: (language: Language) => Translate;
  readonly now: () => number;
  readonly newId: () => string;
}

/** Creates the notifications of a change: one for each enabled webhook whose filters match. */
export function createAnnounce(deps: AnnounceDeps) {
  const driverIn = (language: Language, name: string): DriverInfo | undefined => {
    const driver = deps.driverOf(name);
    if (driver === undefined || language === "en") return driver;
    return createDriverTranslation(deps.translations(language))(driver);
  };
  const textOf = (event: IncidentEvent, incident: Incident, language: Language): string => {
    const time = (ms: number): string | undefined =>
      ms === 0 ? undefined : new Date(ms).toISOString();
    const driver = driverIn(language, incident.driver);
    const data = {
      id: incident.id,
      site: deps.siteName(incident.siteId),
      mount_path: incident.mountPath,
      driver: incident.driver,
      class: incident.class,
      source: incident.source,
      message: incident.message,
      action: actionOf(incident.class).in(deps.translations(language)),
      items: itemsToReplace(incident.class, driver).map(({ name, label, description }) => ({
        ...{ name, label, description },
      })),
      ...(driver !== undefined && driver.guide !== "" && { guide: driver.guide }),
      open_time: time(incident.openedAt),
      change_time: time(incident.changedAt),
      close_time: time(incident.closedAt),
      acknowledge_time: time(incident.acknowledgedAt),
      ...(incident.acknowledgedAt > 0 && {
        ...{ acknowledged_by: incident.acknowledgedBy, note: incident.note },
      }),
    };
    const timestamp = new Date(deps.now()).toISOString();
    return JSON.stringify({ type: `incident.${event}`, timestamp, data });
  };
  return (event: IncidentEvent, incident: Incident): StoredDelivery[] => {
    const site = deps.siteName(incident.siteId);
    return deps
      .webhooks()
      .filter(
        ({ disabled, classes, sites }) =>
          !disabled &&
          (classes.length === 0 || classes.includes(incident.class)) &&
          (sites.length === 0 || sites.includes(site)),
      )
      .map(({ id: webhookId, language }) => ({
        ...{ id: deps.newId(), webhookId, incidentId: incident.id, type: `incident.${event}` },
        body: textOf(event, incident, language as Language),
        ...{ createdAt: deps.now(), nextTry: deps.now(), attempts: 0, status: 0, error: "" },
        state: "waiting",
      }));
  };
}
