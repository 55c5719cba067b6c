import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { createDayService, type DayService } from "./days/service.ts";
import { type FollowDeps, followIncidents, type IncidentFollower } from "./follow.ts";
import type { Incident, IncidentEvent } from "./incident.ts";
import { createIncidentNames, type IncidentNames } from "./names.ts";
import { newId } from "./new-id.ts";
import { createIncidentService, type IncidentService } from "./service.ts";
import type { ExpiringToken } from "./watch-condition.ts";
import { openWebhooks, type WebhookEvents, type WebhooksDeps } from "./webhook/open.ts";
import type { WebhookRegistry } from "./webhook/registry.ts";
import type { WebhookService } from "./webhook/service.ts";

/** Dependencies of incidents, of webhooks and of the work that follows sites. */
export interface IncidentsDeps
  extends Pick<
      FollowDeps,
      "store" | "isLeader" | "listings" | "siteStates" | "probes" | "driverOf" | "now" | "random"
    >,
    Pick<WebhooksDeps, "sealer" | "declaredBy" | "translations" | "allowPrivate"> {
  readonly sites: Pick<SiteRegistry, "sites" | "byId" | "names" | "load">;
  /** Name of Mooring's mount at a path of a site. */
  readonly mountAt: (siteId: string, path: string) => string | undefined;
  readonly events: IncidentEvents;
  /** Other times, in milliseconds; undefined: those of the program. */
  readonly times?: IncidentTimes | undefined;
}

/** Events of incidents and webhooks, for the log of the service. */
export interface IncidentEvents extends WebhookEvents {
  readonly onChange: (event: IncidentEvent, site: string, incident: Incident) => void;
  /** Called when failing mounts of a site begin to be without incidents, with their number. */
  readonly onLeftOut: (site: Site, count: number) => void;
}

/** Times of incidents, in milliseconds. */
export interface IncidentTimes extends Pick<WebhooksDeps, "pauses" | "digest"> {
  /** Interval of checking for due deliveries and listings. */
  readonly tick?: number | undefined;
  /** Polling interval of a stream of incidents. */
  readonly watch?: number | undefined;
  /** Time without an answer after which a site is down. */
  readonly down?: number | undefined;
}

/** Incidents and webhooks on one store. */
export interface Incidents extends IncidentNames, Omit<IncidentFollower, "stop"> {
  readonly incidents: IncidentService;
  readonly webhooks: WebhookService;
  /** Last days of sites and mounts. */
  readonly days: DayService;
  /** The webhooks themselves. */
  readonly targets: WebhookRegistry;
  /** Calls the listener after each change of the incidents that `at` returns. */
  onStatus(listener: () => void): void;
  /** Sets the reader of tokens of Mooring that expire soon or have expired. */
  watchTokens(read: () => readonly ExpiringToken[]): void;
  endStreams(): void;
  close(): Promise<void>;
}

/** Reads the webhooks, and starts sending due deliveries. */
export async function startIncidents(deps: IncidentsDeps): Promise<Incidents> {
  const { store, sites, now, driverOf, events, times = {} } = deps;
  const stopping = new AbortController();
  const listeners: (() => void)[] = [];
  const statusChanged = (): void => {
    for (const listener of listeners) listener();
  };
  /** Tokens of Mooring, known once the access to it is open. */
  let readTokens: () => readonly ExpiringToken[] = () => [];
  const tokens = () => readTokens();
  const names = createIncidentNames({ sites, mountAt: deps.mountAt, tokens });
  const webhooks = await openWebhooks({ ...deps, ...times, placeOf: names.placeOf, newId });
  const { announce, join } = webhooks;
  const service = createIncidentService({
    store,
    now,
    announce,
    siteName: names.siteName,
    driverOf,
    stopping: stopping.signal,
    readInterval: times.watch,
  });
  const follower = followIncidents({
    ...deps,
    webhooks,
    tokens,
    changes: {
      store,
      now,
      newId,
      announce,
      join,
      onChange: (event, incident) => {
        events.onChange(event, String(names.siteName(incident.siteId)), incident);
        service.changed();
        statusChanged();
      },
    },
    onLeftOut: events.onLeftOut,
    onOthers: statusChanged,
    onError: events.onError,
    stopping: stopping.signal,
    tick: times.tick,
    down: times.down,
  });
  return {
    ...names,
    incidents: service,
    targets: webhooks.registry,
    webhooks: webhooks.service,
    days: createDayService({ store: store.days, sites, now }),
    counts: follower.counts,
    onStatus: (listener) => void listeners.push(listener),
    at: follower.at,
    listed: follower.listed,
    report: follower.report,
    watchTokens: (read) => {
      readTokens = read;
    },
    endStreams: () => stopping.abort(),
    close: async () => {
      stopping.abort();
      await follower.stop();
    },
  };
}
