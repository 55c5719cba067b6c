import { randomBytes } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { type Incidents, startIncidents } from "../incidents/start.ts";
import type { IncidentStore } from "../incidents/store.ts";
import { createTranslations } from "../messages/language.ts";
import { createMountBook, type MountStateStore } from "../mounts/site/book.ts";
import { type MountFollow, startMountFollow } from "../mounts/site/follow.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer } from "../secrets/sealer.ts";
import { createLease } from "../sites/lease.ts";
import type { Sites } from "../sites/start.ts";
import type { SiteStore } from "../sites/store.ts";
import type { Logger } from "../telemetry/log.ts";

/** What mounts and incidents stand on. */
export interface MountParts {
  readonly sites: Pick<Sites, "book">;
  readonly store: {
    readonly sites: SiteStore;
    readonly mountStates: MountStateStore;
    readonly incidents: IncidentStore;
  };
  readonly fingerprint: Fingerprint;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly log: Logger;
  /** Other intervals for the background work; undefined: those of the program. */
  readonly times?: MountTimes | undefined;
}

/** Intervals of the work on mounts and incidents, in milliseconds. */
export interface MountTimes {
  readonly beat?: number;
  /** Between two lists of a site's mounts. */
  readonly look?: number;
  /** Between two looks of a stream of incidents. */
  readonly watch?: number;
  /** Pauses between attempts of a notification. */
  readonly pauses?: readonly number[];
}

/** Mounts of sites, and what does not work about them. */
export interface OpenMounts {
  readonly follow: MountFollow;
  readonly incidents: Incidents;
  close(): Promise<void>;
}

/** Begins to read the mounts of the sites, and to notice which of them do not work. */
export async function openMounts(
  { secretKeys, probeIntervalMs, webhookTargets }: Config,
  { sites, store, fingerprint, driverOf, log, times = {} }: MountParts,
): Promise<OpenMounts> {
  const holder = randomBytes(9).toString("base64url");
  const lease = createLease(store.sites, { name: "mounts", holder, now: Date.now });
  const incidents = await startIncidents({
    ...{ store: store.incidents, sites: sites.book, lease, driverOf },
    sealer: createSealer(secretKeys),
    translations: createTranslations(),
    clientOf: (site) => follow.clientOf(site),
    probeInterval: probeIntervalMs,
    allowPrivate: webhookTargets === "any",
    now: Date.now,
    random: Math.random,
    onChange: (event, site, { id, mountPath: mount, driver, class: kind, message }) =>
      log[event === "opened" ? "warn" : "info"](
        { site, mount, driver, incident: id, class: kind, event, reason: message },
        "incident",
      ),
    onAttempt: (webhook, { id, type, state, status, attempts, error }) =>
      log[state === "failed" ? "warn" : "info"](
        { webhook, delivery: id, type, state, status, attempts, reason: error },
        "webhook",
      ),
    onError: (error) => log.error({ err: error }, "incidents can't be followed"),
    times: { ...times, look: times.watch } as NonNullable<
      Parameters<typeof startIncidents>[0]["times"]
    >,
  });
  const follow = await startMountFollow({
    ...{ sites: sites.book, lease, driverOf, hash: fingerprint },
    book: createMountBook(store.mountStates),
    now: Date.now,
    random: Math.random,
    // Mooring has no mounts of its own yet: sites are read, and nothing is written there.
    wantedOf: () => [],
    subscribe: () => () => undefined,
    onRound: () => undefined,
    onList: incidents.listed,
    onError: (error) => log.error({ err: error }, "mounts can't be followed"),
    times,
  });
  return {
    follow,
    incidents,
    close: async () => {
      await incidents.close();
      await follow.close();
    },
  };
}
