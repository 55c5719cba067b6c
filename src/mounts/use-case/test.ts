import { doneEntry } from "../../audit/entry.ts";
import type { AuditEntry } from "../../audit/store.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { invalid, notFound } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { waitAtMost } from "../../pause.ts";
import { MAX_REQUEST, MAX_SUBJECTS } from "../../records/limit.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { isOnSite } from "../../sites/site-choice.ts";
import type { MountChanges } from "../changes.ts";
import { type Mount, missingOn } from "../mount.ts";
import type { MountHealth, MountService } from "../mount-service.ts";
import type { Lister } from "../site/listing.ts";
import { plainStatus } from "../site/plain.ts";
import type { MountRegistry } from "../site/registry.ts";
import { isPending } from "../site/state.ts";
import type { MountSync } from "../site/sync.ts";
import type { Status } from "../status.ts";
import { type Arrival, type Target, type TestResult, testMounts } from "../test.ts";

/** Longest wait for a change that is being brought to a site, in milliseconds. */
const PATIENCE = 10_000;

export interface ListingDeps {
  readonly registry: Pick<MountRegistry, "site" | "records" | "onChange">;
  readonly statusOn: (mount: Mount, site: Site) => Status;
  readonly lister: Pick<Lister, "list" | "accountOf">;
  readonly sync: Pick<MountSync, "read" | "record">;
  readonly health: Pick<MountHealth, "classOf" | "isRefusal" | "remedyFor">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

/** Lists mounts at their providers. */
export type ListTargets = (
  targets: readonly Target[],
  signal: AbortSignal,
) => Promise<readonly TestResult[]>;

export function listTargets(deps: ListingDeps): ListTargets {
  const { lister, sync, health } = deps;
  return (targets, signal) =>
    testMounts(targets, {
      lister,
      arrival: (target, end) => arrivalOf(target, deps, end),
      rowsOf: async ({ id }) => (await sync.read(id)).rows,
      record: ({ id }, row, error) => sync.record(id, row, error, health.classOf),
      statusOf: (row) => plainStatus(row, undefined, deps),
      remedyFor: health.remedyFor,
      isRefusal: (error) => health.isRefusal(health.classOf(error)),
      now: () => performance.now(),
      signal,
    });
}

/** Waits until the newest revision of a mount is on a site that follows, or the site refused it. */
async function arrivalOf(
  { mount, site }: Target,
  { registry, statusOn }: ListingDeps,
  signal: AbortSignal,
): Promise<Arrival> {
  const isPushing = (): boolean => {
    const { contacted, error } = registry.site(site.id);
    return site.mode === "follow" && !site.paused && contacted && error === "";
  };
  const isWaitedFor = (): boolean =>
    isPushing() &&
    missingOn(mount, site.id).length === 0 &&
    isPending(mount.revision, registry.records(site.id).get(mount.name));
  if (isWaitedFor()) {
    const arrived = Promise.withResolvers<void>();
    const stop = registry.onChange(() => {
      if (!isWaitedFor()) arrived.resolve();
    });
    signal.addEventListener("abort", () => arrived.resolve(), { once: true });
    await waitAtMost(PATIENCE, arrived.promise);
    stop();
  }
  const { state, cause, remedy } = statusOn(mount, site);
  const refusal = state === "failing" || state === "stuck" ? cause : "";
  return { isPending: isWaitedFor(), refusal, remedy };
}

export interface TestDeps {
  readonly sites: Pick<SiteRegistry, "sites">;
  readonly list: ListTargets;
  readonly audit: (entry: AuditEntry) => Promise<void>;
  readonly stopping: AbortSignal;
}

export function testOfMounts(
  changes: MountChanges,
  { sites, list, audit, stopping }: TestDeps,
): MountService["test"] {
  return async (names, site, { grant, origin }, signal) => {
    const only = site === "" ? undefined : await changes.siteNamed(site);
    const places = only === undefined ? sites.sites() : [only];
    const asked = changes.named(names, grant);
    const targets: Target[] = [];
    for (const mount of asked) {
      const own = places.filter((each) => isOnSite(mount, each.id));
      if (own.length === 0 && names.length > 0 && only !== undefined)
        throw notFound(message("MOUNT_NOT_ON_SITE", { site, name: mount.name }));
      // Not all pairs of thousands of mounts and sites are built.
      checkCount(targets.length + own.length);
      for (const each of own) targets.push({ mount, site: each });
    }
    const subjects = asked.slice(0, MAX_SUBJECTS).map(({ name }) => `mount:${name}`);
    const named = only === undefined ? [] : [only.name];
    await audit(doneEntry(origin, Date.now(), [...named, ...subjects], {}));
    return list(targets, AbortSignal.any([signal, stopping]));
  };
}

function checkCount(count: number): void {
  if (count > MAX_REQUEST)
    throw invalid([
      { field: "names", description: message("TOO_MANY_TESTS", { count, most: MAX_REQUEST }) },
    ]);
}
