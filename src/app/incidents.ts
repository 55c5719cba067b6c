import type { Config } from "../config/config.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { classify } from "../incidents/incident.ts";
import {
  type IncidentEvents,
  type Incidents,
  type IncidentTimes,
  startIncidents,
} from "../incidents/start.ts";
import type { IncidentStore } from "../incidents/store.ts";
import { createTranslations } from "../messages/language.ts";
import type { MountView } from "../mounts/mount-view.ts";
import type { Lister } from "../mounts/site/listing.ts";
import type { MountRegistry } from "../mounts/site/registry.ts";
import type { MountSync } from "../mounts/site/sync.ts";
import { createSealer } from "../secrets/sealer.ts";
import type { KindOfSites } from "../sites/record-effect.ts";
import { errorOf } from "../sites/site.ts";
import type { Sites } from "../sites/sites.ts";
import type { Declared } from "../state-file/declared.ts";
import type { Logger } from "../telemetry/log.ts";

export interface IncidentParts {
  readonly store: IncidentStore;
  readonly sites: Pick<Sites, "registry" | "sync">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** File that declares a record of a part of archives; undefined: clients change it. */
  readonly declaredBy: Declared["by"];
  readonly view: Pick<MountView, "nameAt">;
  readonly registry: Pick<MountRegistry, "listings" | "onListing">;
  readonly lister: Pick<Lister, "isFree" | "list">;
  readonly sync: Pick<MountSync, "read" | "record">;
  /** Mounts as a part of the state of a site. */
  readonly onSites: () => Pick<KindOfSites, "ofSite">;
  readonly log: Logger;
  /** Other times; undefined: those of the program. */
  readonly times?: IncidentTimes | undefined;
}

/** Starts incidents and webhooks. */
export function openIncidents(
  { secretKeys, probeIntervalMs, webhookTargets }: Config,
  { store, sites, declaredBy, view, registry, lister, sync, onSites, log, ...parts }: IncidentParts,
): Promise<Incidents> {
  return startIncidents({
    ...parts,
    store,
    sites: sites.registry,
    isLeader: sites.sync.isLeader,
    declaredBy: (name) => declaredBy("webhooks", name),
    sealer: createSealer(secretKeys),
    translations: createTranslations(),
    allowPrivate: webhookTargets === "any",
    mountAt: view.nameAt,
    listings: registry,
    siteStates: {
      failureOf: (site) =>
        errorOf({ state: sites.registry.state(site.id), records: [onSites().ofSite(site)] }),
      reachedAt: ({ id }) => sites.registry.state(id).reachedAt,
    },
    probes: {
      interval: probeIntervalMs,
      isFree: lister.isFree,
      list: lister.list,
      rowsOf: async ({ id }) => (await sync.read(id)).rows,
      lastOf: (siteId, path) => registry.listings(siteId).get(path),
      onResult: (site, row, error) => sync.record(site.id, row, error, classify),
    },
    now: Date.now,
    random: Math.random,
    events: logIncidents(log),
  });
}

function logIncidents(log: Logger): IncidentEvents {
  return {
    onChange: (event, site, incident) => {
      const { id, subject, mountPath: mount, driver, class: cause, message: reason } = incident;
      const what =
        subject === "mount" ? `${mount} on ${site}` : `${subject} ${incident.name || site}`;
      log[event === "opened" ? "warn" : "info"](
        {
          kind: "incident",
          event,
          incident: id,
          subject,
          site,
          mount,
          driver,
          class: cause,
          reason,
        },
        `incident ${event}: ${what}: ${String(reason)}`,
      );
    },
    onLeftOut: ({ name: site }, mounts) =>
      log.warn({ site, mounts }, "too many failing mounts: these have no incidents"),
    onDisabled: (webhook) =>
      log.warn({ webhook }, "webhook disabled: its target answered 410 Gone"),
    onAttempt: (webhook, { id, type, state, status, attempts, error }) =>
      log[state === "failed" ? "warn" : "info"](
        { kind: "webhook", webhook, delivery: id, type, state, status, attempts, reason: error },
        `webhook ${webhook}: ${type} ${state}${String(error) === "" ? "" : `: ${String(error)}`}`,
      ),
    onError: (error) => log.error({ err: error }, "failed to follow incidents"),
  };
}
