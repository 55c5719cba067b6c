import { randomBytes } from "node:crypto";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Language, Translate } from "../messages/language.ts";
import type { Text } from "../messages/message.ts";
import type { Lister } from "../mounts/site/listing.ts";
import type { MountRegistry } from "../mounts/site/registry.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import type { Sealer } from "../secrets/sealer.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { type Conditions, createConditions } from "./condition.ts";
import { listedMount } from "./days/listed-mount.ts";
import { createDayRecorder } from "./days/recorder.ts";
import { createDayService, type DayService } from "./days/service.ts";
import {
  CLASSES,
  type Incident,
  type IncidentClass,
  type IncidentEvent,
  type IncidentPlace,
} from "./incident.ts";
import { createLeadership } from "./leadership.ts";
import { createIncidentNames } from "./names.ts";
import { createProbes, type ProbeDeps } from "./probe.ts";
import { createIncidentRegistry } from "./registry.ts";
import { createIncidentService, type IncidentService } from "./service.ts";
import type { IncidentStore, StoredDelivery } from "./store.ts";
import { createStoredIncidents } from "./stored-incidents.ts";
import {
  createWatchCondition,
  type EndingToken,
  type WatchConditionDeps,
} from "./watch-condition.ts";
import { createAnnounce } from "./webhook/announce.ts";
import { createDeliverer } from "./webhook/deliver.ts";
import { disableGone } from "./webhook/disable.ts";
import { createWebhookRegistry, type WebhookRegistry } from "./webhook/registry.ts";
import { type Send, sendOnce } from "./webhook/send.ts";
import { createWebhookService, type WebhookService } from "./webhook/service.ts";
import { startIncidentWork } from "./work.ts";

export interface IncidentsDeps {
  readonly store: IncidentStore;
  readonly sites: Pick<SiteRegistry, "sites" | "byId" | "names" | "load">;
  /**
   * Whether this process has the lease of the work on sites. Only that process opens and closes
   * incidents, and sends notifications.
   */
  readonly isLeader: () => boolean;
  readonly sealer: Sealer;
  /** File that declares a webhook; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly translations: (language: Language) => Translate;
  /** Name of Mooring's mount at a path of a site. */
  readonly mountAt: (siteId: string, path: string) => string | undefined;
  readonly lister: Pick<Lister, "isFree" | "list">;
  /** Results of listings, by probes and by users. */
  readonly listings: Pick<MountRegistry, "listings" | "onListing">;
  /** Why a site can't be read; undefined: it can, or was not read yet. */
  readonly siteFailure: WatchConditionDeps["failureOf"];
  /** Time of the last answer of a site. */
  readonly siteReachedAt: WatchConditionDeps["reachedAt"];
  /** Reads the rows of a site now. */
  readonly rowsOf: ProbeDeps["rowsOf"];
  /** Stores the result of a probe. */
  readonly record: ProbeDeps["onResult"];
  /** Milliseconds between two listings of a mount; 0: none. */
  readonly probeInterval: number;
  /** Whether messages may be sent to addresses that are not public. */
  readonly allowPrivate: boolean;
  readonly now: () => number;
  readonly random: () => number;
  readonly onChange: (event: IncidentEvent, site: string, incident: Incident) => void;
  /** Called when failing mounts of a site begin to be without incidents, with their number. */
  readonly onLeftOut: (site: Site, count: number) => void;
  /** Called after a webhook was disabled because its target is gone. */
  readonly onDisabled: (webhook: string) => void;
  readonly onAttempt: (webhook: string, delivery: StoredDelivery) => void;
  readonly onError: (error: unknown) => void;
  /** Other intervals for tests. */
  readonly times?:
    | {
        readonly tick?: number;
        readonly readInterval?: number;
        readonly pauses?: readonly number[];
        /** Time for which notifications of one cause are collected. */
        readonly digest?: number;
        /** Time without an answer after which a site is down. */
        readonly down?: number;
      }
    | undefined;
}

/** Incidents and webhooks on one store. */
export interface Incidents {
  readonly incidents: IncidentService;
  readonly webhooks: WebhookService;
  /** Last days of sites and mounts. */
  readonly days: DayService;
  /** The webhooks themselves. */
  readonly targets: WebhookRegistry;
  /** Number of open incidents by class, if this process follows mounts; else 0. */
  counts(): Readonly<Record<IncidentClass, number>>;
  /** Calls the listener after each change of the incidents that `at` returns. */
  onStatus(listener: () => void): void;
  /** The open incident of a mount, in any process. */
  at(siteId: string, path: string): Incident | undefined;
  /** Processes a list of a site's mounts. */
  listed(site: Site, rows: readonly StorageRow[]): Promise<void>;
  siteName(siteId: string): Text;
  placeOf(incident: Incident): IncidentPlace;
  /**
   * Opens, changes or closes the incident of a backup (or of a site or token), in any process.
   *
   * @param condition undefined: it works.
   */
  report: Conditions["report"];
  /** Sets the reader of tokens of Mooring that end soon or have ended. */
  watchTokens(read: () => readonly EndingToken[]): void;
  endStreams(): void;
  close(): Promise<void>;
}

/** Reads the webhooks, and starts sending due deliveries. */
export async function startIncidents(deps: IncidentsDeps): Promise<Incidents> {
  const { store, sites, isLeader, now, random, onError, driverOf } = deps;
  const ending = new AbortController();
  const listeners: (() => void)[] = [];
  const statusChanged = (): void => {
    for (const listener of listeners) listener();
  };
  /** Tokens of Mooring, known once the access to it is open. */
  let readTokens: () => readonly EndingToken[] = () => [];
  const tokens = () => readTokens();
  const { siteName, placeOf } = createIncidentNames({ sites, mountAt: deps.mountAt, tokens });
  const targets = createWebhookRegistry({
    store,
    sealer: deps.sealer,
    onClosed: (name, error) => onError(new Error(`webhook ${name}`, { cause: error })),
  });
  const { announce, join } = createAnnounce({
    translations: deps.translations,
    webhooks: targets.all,
    placeOf,
    driverOf,
    now,
    newId,
    digestWindow: deps.times?.digest,
  });
  const service = createIncidentService({
    store,
    now,
    announce,
    siteName,
    driverOf,
    stopping: ending.signal,
    readInterval: deps.times?.readInterval,
  });
  const changes = {
    store,
    now,
    newId,
    announce,
    join,
    onChange: (event: IncidentEvent, incident: Incident): void => {
      deps.onChange(event, String(siteName(incident.siteId)), incident);
      service.changed();
      statusChanged();
    },
  };
  const registry = createIncidentRegistry({ ...changes, driverOf, onLeftOut: deps.onLeftOut });
  const conditions = createConditions(changes);
  const days = createDayRecorder({ store: store.days, now });
  const watching = createWatchCondition({
    store,
    report: conditions.report,
    sites: sites.sites,
    failureOf: deps.siteFailure,
    reachedAt: deps.siteReachedAt,
    tokens,
    now,
    onLook: ({ id, paused }, condition) => {
      if (paused) days.observe(id, { state: "unmonitored", reason: "" });
      else
        days.observe(id, {
          state: condition === undefined ? "works" : "fails",
          reason: condition?.message ?? "",
        });
    },
    down: deps.times?.down,
  });
  const leading = createLeadership({ isLeader, registry, days, watching });
  deps.listings.onListing(async (siteId, path, listing) => {
    if (await leading()) await registry.probed(siteId, path, listing);
  });
  const probes = createProbes({
    interval: deps.probeInterval,
    isFree: deps.lister.isFree,
    list: deps.lister.list,
    rowsOf: deps.rowsOf,
    lastOf: (siteId, path) => deps.listings.listings(siteId).get(path),
    onResult: deps.record,
    now,
    random,
    onError,
  });
  const send: Send = (request, reply) =>
    sendOnce(request, { ...reply, allowPrivate: deps.allowPrivate });
  const deliverer = createDeliverer({
    store,
    send,
    now,
    random,
    webhook: targets.byId,
    disable: disableGone({ registry: targets, now, onDisabled: deps.onDisabled }),
    onAttempt: (delivery) => deps.onAttempt(targets.byId(delivery.webhookId)?.name ?? "", delivery),
    ...(deps.times?.pauses && { pauses: deps.times.pauses }),
  });
  const stored = createStoredIncidents(store, statusChanged);
  await targets.load();
  const work = startIncidentWork({
    isLeader,
    leading,
    store,
    sites,
    registry,
    days,
    targets,
    watching,
    deliverer,
    probes,
    stored,
    now,
    stopping: ending.signal,
    onError,
    interval: deps.times?.tick,
  });
  return {
    incidents: service,
    targets,
    days: createDayService({ store: store.days, sites, now }),
    webhooks: createWebhookService({
      store,
      registry: targets,
      send,
      declaredBy: deps.declaredBy,
      now,
      newId,
      translations: deps.translations,
      readSites: () => readSiteNames(sites),
    }),
    counts: () => countByClass(isLeader() ? registry.open() : []),
    onStatus: (listener) => void listeners.push(listener),
    at: (siteId, path) => (isLeader() ? registry.at(siteId, path) : stored.at(siteId, path)),
    listed: async (site, rows) => {
      if (!(await leading())) return;
      await registry.listed(site, rows);
      await days.listed(
        site.id,
        rows.map((row) => listedMount(row, registry.at(site.id, row.mount_path), driverOf)),
      );
      probes.listed(site, rows);
    },
    siteName,
    placeOf,
    report: conditions.report,
    watchTokens: (read) => {
      readTokens = read;
    },
    endStreams: () => ending.abort(),
    close: async () => {
      ending.abort();
      await work.stop();
    },
  };
}

/** A new id. Hexadecimal: an argument of a command must not begin with a hyphen. */
function newId(): string {
  return randomBytes(9).toString("hex");
}

function countByClass(incidents: Iterable<Incident>): Record<IncidentClass, number> {
  const counts = Object.fromEntries(CLASSES.map((each) => [each, 0])) as Record<
    IncidentClass,
    number
  >;
  for (const incident of incidents) counts[incident.class] += 1;
  return counts;
}
