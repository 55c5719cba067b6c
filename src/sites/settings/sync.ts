import type { Ledger } from "../../ledger/ledger.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import type { Adapter, Failure, Job } from "../../sync/adapter.ts";
import type { KindSync } from "../../sync/kind-work.ts";
import type { Sync } from "../../sync/sync.ts";
import type { SiteRegistry } from "../registry.ts";
import type { Site } from "../site.ts";
import type { SiteEvent } from "../store.ts";
import { adoptRefused } from "./adopt.ts";
import { createSettingClient } from "./client.ts";
import { type Round, type RoundOptions, runRound } from "./round.ts";

/** Interval of reading a site without work, in milliseconds. */
const READ_INTERVAL = 60_000;
/** Interval after a push: an open page may send old values. */
const REREAD_INTERVAL = 10_000;
/** Maximum number of sites with concurrent calls. */
const CONCURRENCY = 32;

export interface SettingSyncDeps {
  readonly registry: SiteRegistry;
  readonly ledger: Ledger;
  readonly hash: Fingerprint;
  readonly now: () => number;
  /** Position in the feed: the newest revision, and the newest one that changes a setting. */
  readonly position: { readonly revision: number; readonly setting: number };
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /** Called for each action, and for the first failure. */
  readonly onEvent: (site: Site, event: SiteEvent) => void;
  /** Whether the upstream has to wait until `releaseUpstream`. Default: it has not. */
  readonly holdsUpstream?: boolean | undefined;
  /** Shorter intervals for tests, in milliseconds. */
  readonly times?: { readonly read?: number; readonly reread?: number } | undefined;
}

/** Exclusive work on the settings of a site. */
export interface SettingJob extends Job<Site> {
  /** Reads the site, and writes to it if requested to. @throws SiteFailure, which is stored. */
  round(options: RoundOptions): Promise<Round>;
}

/** Reconciler of the settings of sites. */
export interface SettingSync extends Pick<KindSync<Site>, "reconcile" | "isDue" | "changed"> {
  /** Runs work on a site after all earlier work on it. @throws what the work throws. */
  exclusive<T>(siteId: string, work: (job: SettingJob) => Promise<T>): Promise<T>;
  /** One round on request. @throws SiteFailure, which is stored. */
  round(site: Site, options: RoundOptions): Promise<Round>;
  /** Reconciles the upstream from now on: its values were adopted at first contact. */
  releaseUpstream(): void;
}

/** Adds settings to the reconciler of sites. */
export function createSettingSync(sync: Sync<Site>, deps: SettingSyncDeps): SettingSync {
  let isUpstreamHeld = deps.holdsUpstream === true;
  const round: RunRound = (job, options) => attemptRound(job, options, deps);
  const kind = sync.add(createAdapter(round, () => isUpstreamHeld, deps));
  const exclusive: SettingSync["exclusive"] = (siteId, work) =>
    kind.exclusive(siteId, (job) => work({ ...job, round: (options) => round(job, options) }));
  return {
    exclusive,
    round: (site, options) =>
      exclusive(site.id, (job) => {
        options.signal?.throwIfAborted();
        return job.round(options);
      }),
    releaseUpstream: () => {
      isUpstreamHeld = false;
    },
    reconcile: kind.reconcile,
    isDue: kind.isDue,
    changed: kind.changed,
  };
}

type RunRound = (job: Job<Site>, options: RoundOptions) => Promise<Round>;

/** Runs a round of a site, and stores its state. @throws SiteFailure, which is stored. */
function attemptRound(
  job: Job<Site>,
  options: RoundOptions,
  { registry, ledger, hash, now, maxValueBytes, onEvent, times = {} }: SettingSyncDeps,
): Promise<Round> {
  const { read = READ_INTERVAL, reread = REREAD_INTERVAL } = times;
  return job.attempt(
    async (release) => {
      const { site } = job;
      const before = registry.state(site.id);
      const snapshot = ledger.snapshot();
      const client = createSettingClient(job.client);
      const found = await runRound(site, before, options, { client, hash, now, snapshot });
      release();
      const isFront = site.upstream && site.mode === "follow" && options.aim === "push";
      const done = isFront
        ? await adoptRefused(found, { ledger, snapshot, maxValueBytes, now })
        : found;
      const isPatient = options.actor === "sites" && !site.upstream;
      const isRecorded = await registry.record(site.id, done.state, done.events, { isPatient });
      // Another process has written the state, which is used instead. Calls wait for the refusals.
      const { replaced } = done.state;
      if (!isRecorded && replaced !== before.replaced)
        await registry.record(site.id, { ...registry.state(site.id), replaced });
      if (isRecorded) for (const event of done.events) onEvent(site, event);
      return { ...done, isRecorded, site };
    },
    ({ isRecorded, results, comparisons, site }) => {
      if (!isRecorded) return { requeueAfter: 0, replans: true };
      const isOpen = site.mode === "follow" && comparisons.some(({ sync }) => sync === "differs");
      const hasPushed = results.length > 0;
      return { requeueAfter: hasPushed || isOpen ? reread : read, replans: hasPushed };
    },
  );
}

/** Settings as a kind of records of the reconciler. */
function createAdapter(
  round: RunRound,
  isUpstreamHeld: () => boolean,
  { registry, ledger, now, onEvent, position }: SettingSyncDeps,
): Adapter<Site> {
  return {
    concurrency: CONCURRENCY,
    failureOf: (siteId): Failure | undefined => {
      const { error, failures, nextTry } = registry.state(siteId);
      return error && { ...error, failures, nextTry };
    },
    failed: async (site, { kind, message, since, failures, nextTry }, isFirst) => {
      const event: SiteEvent = {
        time: now(),
        actor: "sites",
        action: "fail",
        keys: [],
        result: message,
        revision: ledger.snapshot().revision,
      };
      const state = {
        ...registry.state(site.id),
        failures,
        nextTry,
        error: { kind, message, since },
      };
      await registry.record(site.id, state, isFirst ? [event] : [], { isPatient: true });
      if (isFirst) onEvent(site, event);
    },
    reconcile: async (job) => {
      const { id, mode } = job.site;
      const { error, appliedRevision } = registry.state(id);
      const { revision, setting } = position;
      // Nothing to do: another round has pushed the revision, or it changes no setting.
      const newest = Math.min(setting, ledger.snapshot().revision);
      if (!job.isDue && error === undefined && appliedRevision >= newest) {
        if (appliedRevision < revision && mode === "follow")
          await registry.record(id, { ...registry.state(id), appliedRevision: revision });
        return;
      }
      if (job.site.upstream && isUpstreamHeld()) return;
      await round(job, { aim: mode === "follow" ? "push" : "read", actor: "sites" });
    },
  };
}
