import { randomBytes } from "node:crypto";
import { doneEntry } from "../audit/entry.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Language, Translate } from "../messages/language.ts";
import type { Lister } from "../mounts/site/listing.ts";
import type { MountRegistry } from "../mounts/site/registry.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import { waitAtMost } from "../pause.ts";
import { startPeriodic } from "../periodic.ts";
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
import { MAX_OPEN } from "./open-incidents.ts";
import { createProbes, type ProbeDeps } from "./probe.ts";
import { createIncidentRegistry, keyOf } from "./registry.ts";
import { createIncidentService, type IncidentService } from "./service.ts";
import type { IncidentStore, StoredDelivery } from "./store.ts";
import {
  createWatchCondition,
  type EndingToken,
  type WatchConditionDeps,
} from "./watch-condition.ts";
import { createAnnounce } from "./webhook/announce.ts";
import { createDeliverer } from "./webhook/deliver.ts";
import { createWebhookRegistry, type WebhookRegistry } from "./webhook/registry.ts";
import { type Send, sendOnce } from "./webhook/send.ts";
import { createWebhookService, type WebhookService } from "./webhook/service.ts";

/** Interval of checking for due deliveries and listings, in milliseconds. */
const BEAT = 1_000;
/** Interval of deleting old rows, in milliseconds. */
const FORGET = 3_600_000;
/** Retention of closed incidents and deliveries, in milliseconds. */
const KEPT = 90 * 86_400_000;

/** Name of a site that was removed, in incidents of its time. */
const REMOVED_SITE = "removed site";

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
        readonly beat?: number;
        readonly look?: number;
        readonly pauses?: readonly number[];
        /** Time for which notifications of one cause are collected. */
        readonly digest?: number;
        /** Time without an answer after which a site is down. */
        readonly down?: number;
      }
    | undefined;
}

/** Origin of changes by the sender of notifications. */
const SENDER = { actor: "webhooks", transport: "", method: "deliver", peer: "", requestId: "" };

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
  siteName(siteId: string): string;
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
  const { store, sites, isLeader, now, onError } = deps;
  const ending = new AbortController();
  const listeners: (() => void)[] = [];
  const statusChanged = (): void => {
    for (const listener of listeners) listener();
  };
  // Hexadecimal: an argument of a command must not begin with a hyphen.
  const newId = (): string => randomBytes(9).toString("hex");
  const siteName = (siteId: string): string =>
    siteId === "" ? "" : (sites.byId(siteId)?.name ?? REMOVED_SITE);
  /** Tokens of Mooring, known once the access to it is open. */
  let tokens: () => readonly EndingToken[] = () => [];
  const tokenName = (id: string): string => {
    const principal = tokens().find(({ tokenId }) => tokenId === id)?.principal;
    return principal === undefined ? id : `${principal} (${id})`;
  };
  const targets = createWebhookRegistry({
    store,
    sealer: deps.sealer,
    onClosed: (name, error) => onError(new Error(`webhook ${name}`, { cause: error })),
  });
  const placeOf = (incident: Incident): IncidentPlace => ({
    site: siteName(incident.siteId),
    mount:
      incident.mountPath === "" ? undefined : deps.mountAt(incident.siteId, incident.mountPath),
    name: incident.subject === "token" ? tokenName(incident.name) : incident.name,
  });
  const { announce, join } = createAnnounce({
    ...deps,
    webhooks: targets.all,
    placeOf,
    newId,
    digestWindow: deps.times?.digest,
  });
  const service = createIncidentService({
    store,
    now,
    announce,
    siteName,
    driverOf: deps.driverOf,
    stopping: ending.signal,
    look: deps.times?.look,
  });
  const onChange = (event: IncidentEvent, incident: Incident): void => {
    deps.onChange(event, siteName(incident.siteId), incident);
    service.changed();
    statusChanged();
  };
  const registry = createIncidentRegistry({
    store,
    now,
    newId,
    announce,
    join,
    driverOf: deps.driverOf,
    onChange,
    onLeftOut: deps.onLeftOut,
  });
  deps.listings.onListing(async (siteId, path, listing) => {
    if (await leading()) await registry.probed(siteId, path, listing);
  });
  const conditions = createConditions({ store, now, newId, announce, join, onChange });
  const days = createDayRecorder({ store: store.days, now });
  const watching = createWatchCondition({
    store,
    report: conditions.report,
    sites: sites.sites,
    failureOf: deps.siteFailure,
    reachedAt: deps.siteReachedAt,
    tokens: () => tokens(),
    now,
    onLook: ({ id, paused }, condition) => {
      if (paused) days.look(id, { state: "unseen", reason: "" });
      else
        days.look(id, {
          state: condition === undefined ? "works" : "fails",
          reason: condition?.message ?? "",
        });
    },
    down: deps.times?.down,
  });
  const probes = createProbes({
    interval: deps.probeInterval,
    isFree: deps.lister.isFree,
    list: deps.lister.list,
    rowsOf: deps.rowsOf,
    lastOf: (siteId, path) => deps.listings.listings(siteId).get(path),
    onResult: deps.record,
    now,
    random: deps.random,
    onError,
  });
  const send: Send = (request, reply) =>
    sendOnce(request, { ...reply, allowPrivate: deps.allowPrivate });
  const deliverer = createDeliverer({
    store,
    send,
    now,
    random: deps.random,
    webhook: targets.byId,
    disable: async (id) => {
      // Another process may have changed or deleted the webhook.
      await targets.load();
      const webhook = targets.byId(id);
      if (webhook === undefined || webhook.disabled) return;
      const detail = { changed: ["disabled"], reason: "the target answered 410 Gone" };
      const entry = doneEntry(SENDER, now(), [webhook.name], detail);
      const result = await targets.update({ ...webhook, disabled: true }, [entry]);
      if (result === "stored") deps.onDisabled(webhook.name);
    },
    onAttempt: (delivery) => deps.onAttempt(targets.byId(delivery.webhookId)?.name ?? "", delivery),
    ...(deps.times?.pauses && { pauses: deps.times.pauses }),
  });
  /** Loads the incidents of another process, once this one has the lease. */
  let loading: Promise<void> | undefined;
  const leading = async (): Promise<boolean> => {
    if (!isLeader()) {
      loading = undefined;
      watching.reset();
      return false;
    }
    loading ??= Promise.all([registry.load(), days.load()]).then(() => undefined);
    try {
      await loading;
    } catch (error) {
      loading = undefined;
      throw error;
    }
    return true;
  };
  const running = new Set<Promise<void>>();
  const inBackground = (work: Promise<void>): void => {
    const mine = work.catch(onError).finally(() => running.delete(mine));
    running.add(mine);
  };
  let forgotten = 0;
  /** Open incidents by site and path, as another process has stored them. */
  let others = new Map<string, Incident>();
  const readOthers = async (): Promise<void> => {
    const open = await store.list({ open: true, subject: "mount", limit: MAX_OPEN });
    const versions = (all: Iterable<Incident>): string =>
      JSON.stringify(Array.from(all, ({ id, changedAt }) => [id, changedAt]));
    const isSame = versions(open) === versions(others.values());
    others = new Map(open.map((each) => [keyOf(each.siteId, each.mountPath), each]));
    if (!isSame) statusChanged();
  };
  const beat = async (): Promise<void> => {
    if (ending.signal.aborted) return;
    if (!(await leading())) return readOthers();
    await targets.load();
    await registry.forgetSites((siteId) => sites.byId(siteId) !== undefined);
    if (Math.abs(now() - forgotten) >= FORGET) {
      forgotten = now();
      await store.forget(now() - KEPT);
      await days.forget((siteId) => sites.byId(siteId) !== undefined);
    }
    await watching.run();
    await days.store();
    inBackground(deliverer.run());
    inBackground(probes.run());
  };
  await targets.load();
  const job = startPeriodic(beat, { interval: deps.times?.beat ?? BEAT, onError });
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
    counts: () => {
      const counts = Object.fromEntries(CLASSES.map((each) => [each, 0])) as Record<
        IncidentClass,
        number
      >;
      if (isLeader()) for (const incident of registry.open()) counts[incident.class] += 1;
      return counts;
    },
    onStatus: (listener) => void listeners.push(listener),
    at: (siteId, path) =>
      isLeader() ? registry.at(siteId, path) : others.get(keyOf(siteId, path)),
    listed: async (site, rows) => {
      if (!(await leading())) return;
      await registry.listed(site, rows);
      days.listed(
        site.id,
        rows.map((row) => listedMount(row, registry.at(site.id, row.mount_path), deps.driverOf)),
      );
      probes.listed(site, rows);
    },
    siteName,
    placeOf,
    report: conditions.report,
    watchTokens: (read) => {
      tokens = read;
    },
    endStreams: () => ending.abort(),
    close: async () => {
      ending.abort();
      await job.stop();
      if (isLeader()) await days.store().catch(onError);
      // A listing may take two minutes; the creator of the site's connection closes it.
      await waitAtMost(1_000, Promise.all(running));
    },
  };
}
