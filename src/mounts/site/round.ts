import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { memoize } from "../../memoize.ts";
import type { Text } from "../../messages/message.ts";
import { setOwn } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { LeaseLost, type RoundOptions } from "../../sync/record-sync.ts";
import { createTicks } from "../../ticks.ts";
import { type ApplyDeps, applyMount } from "./apply.ts";
import type { StorageClient } from "./client.ts";
import { type Listing, listingForm } from "./last-listing.ts";
import { GONE, identify, planOf, stateBefore, waitingForRules } from "./plan.ts";
import type { MountRegistry } from "./registry.ts";
import type { StorageRow, WantedMount } from "./row.ts";
import type { ExtraMount, MountState } from "./state.ts";
import type { Step } from "./step.ts";

export interface MountRoundDeps {
  readonly client: StorageClient;
  readonly registry: MountRegistry;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Current desired mounts of the site, which may change during a round. */
  readonly wanted: () => readonly WantedMount[];
  /** Resolves when work on the next mount may start, after other work of the process. */
  readonly rateLimit: () => Promise<void>;
  /** Reports whether this process may still write to the site. */
  readonly mayWrite: () => boolean;
  /** Brings folder rules to the site. @returns paths of those that it must have before mounts there. */
  readonly rulesFirst: () => Promise<readonly string[]>;
  /** Reports whether the site follows now, so that mounts are written without a request. */
  readonly follows: () => boolean;
}

/** Result of a round for one mount. */
interface MountDone {
  readonly name: string;
  readonly path: string;
  readonly steps: readonly Step[];
  /** Whether the mount was changed on the site, and corrected. */
  readonly drifted: boolean;
  /** Empty: no error. */
  readonly error: Text;
}

/** Result of a round. */
export interface MountRound {
  readonly rows: readonly StorageRow[];
  readonly extra: readonly ExtraMount[];
  readonly done: readonly MountDone[];
  /** New states of unchanged mounts, by name. */
  readonly states: Readonly<Record<string, MountState | undefined>>;
  /** Content that users have edited on the site, by mount. */
  readonly adopt: Readonly<Record<string, Readonly<Record<string, Scalar>>>>;
}

/**
 * Reads the list of a site's mounts once, and updates each differing mount to the desired state,
 * one at a time. Mounts with earlier failures come last.
 *
 * @throws SiteFailure when the site can't be reached; LeaseLost; ServiceError of the database.
 */
export async function runMountRound(
  { siteId, aim, forced }: RoundOptions,
  deps: MountRoundDeps,
): Promise<MountRound> {
  const { client, registry, now } = deps;
  const rows = await client.list();
  const site = registry.site(siteId);
  const contacted = site.contacted || rows.length === 0 || forced.length > 0;
  const found = identify(rows, deps.wanted(), registry.records(siteId), forced);
  const { extra } = found;
  const isNew = found.jobs.some(({ row, wanted }) => row === undefined && wanted !== undefined);
  const rulePaths = aim === "push" && isNew ? await deps.rulesFirst() : [];
  const jobs = found.jobs.map((job) => waitingForRules(job, rulePaths));
  const base = {
    ...site,
    contacted,
    readAt: site.readAt,
    extra: extra.slice(0, MAX_EXTRA),
    error: "",
    errorKind: "",
    errorSince: 0,
  };
  await registry.put(siteId, { site: { ...base, failures: 0, nextTry: 0 } });
  const done: MountDone[] = [];
  const adopt: Record<string, Readonly<Record<string, Scalar>>> = {};
  const failures = (name: string): number => registry.records(siteId).get(name)?.failures ?? 0;
  const states: Record<string, MountState | undefined> = {};
  const listings = registry.listings(siteId);
  const requested = new Set(forced);
  const byName = memoize(
    (mounts: readonly WantedMount[]) => new Map(mounts.map((mount) => [mount.name, mount])),
  );
  const ticks = createTicks();
  for (const job of jobs.toSorted((a, b) => failures(a.name) - failures(b.name))) {
    if (ticks.isDue()) await ticks.next();
    const { name } = job;
    const isRequested = requested.has(name);
    const wanted = byName(deps.wanted()).get(name);
    const before = stateBefore(job, registry.records(siteId));
    // The site may have been set to observe since the round began.
    const isWritable = aim === "push" && contacted && (isRequested || deps.follows());
    const plan = planOf(job, before, { wanted, isWritable, isRequested, listings }, deps);
    if (plan.do === "record") setOwn(states, name, plan.state);
    if (plan.do !== "apply") continue;
    await deps.rateLimit();
    const persist: ApplyDeps["persist"] = async (state) => {
      if (!deps.mayWrite()) throw new LeaseLost();
      await registry.put(siteId, { records: { [name]: state } });
    };
    const { state, steps, ...applied } = await applyMount(
      wanted,
      job.row,
      plan.state,
      { ...deps, persist },
      plan.isRemount,
    );
    await registry.put(siteId, { records: { [name]: state } });
    if (Object.keys(applied.adopt).length > 0) setOwn(adopt, name, applied.adopt);
    const drifted = plan.drifted || applied.drifted;
    const path = wanted?.path ?? before.path;
    if (steps.length > 0 || String(state.error) !== String(before.error))
      done.push({ name, path, steps, drifted, error: state.error });
  }
  const rest =
    forced.length === 0 ? base.forced : base.forced.filter((name) => !requested.has(name));
  const isSettled =
    done.length === 0 && site.contacted === contacted && Object.keys(states).length === 0;
  await registry.put(siteId, {
    records: states,
    listings: outdated(listings, rows),
    site: {
      ...base,
      forced: rest,
      failures: 0,
      nextTry: 0,
      // An idle round writes nothing.
      readAt: isSettled && Math.abs(now() - site.readAt) < GONE ? site.readAt : now(),
    },
  });
  return { rows, extra, done, states, adopt };
}

/** Listings of rows that were changed, disabled or deleted, for removal. */
function outdated(
  listings: ReadonlyMap<string, Listing>,
  rows: readonly StorageRow[],
): Record<string, undefined> {
  const forms = new Map(
    rows.flatMap((row) => (row.disabled ? [] : [[row.mount_path, listingForm(row)]])),
  );
  const old = [...listings].filter(([path, { form }]) => forms.get(path) !== form);
  return Object.fromEntries(old.map(([path]) => [path, undefined]));
}
/** Maximum number of unknown mounts of a site that are stored. */
const MAX_EXTRA = 1_000;
