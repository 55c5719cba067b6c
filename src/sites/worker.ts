import { oneAtATime } from "../database/replica.ts";
import type { Engine } from "../ledger/engine.ts";
import { message } from "../messages/message.ts";
import { waitAtMost } from "../pause.ts";
import { hasCome } from "../periodic.ts";
import { createRateLimit } from "../rate-limit.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSiteClient, type SiteClient } from "../sync/client.ts";
import { isLasting, SiteFailure } from "../sync/failure.ts";
import type { SiteRegistry } from "./registry.ts";
import { takeBack } from "./settings/adopt.ts";
import { type Round, type RoundOptions, runRound } from "./settings/round.ts";
import type { Site, SiteState } from "./site.ts";
import type { SiteEvent } from "./store.ts";

/** Interval of checks of a site without work, in milliseconds. */
const COMPARE_INTERVAL = 60_000;
/** Interval after a push: an open page may send old values. */
const RECHECK_INTERVAL = 10_000;
/** First and longest pause after a failure. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;
/** Maximum number of sites with concurrent calls. */
const AT_ONCE = 32;

export interface WorkerDeps {
  readonly registry: SiteRegistry;
  readonly engine: Engine;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly random: () => number;
  /** Position in the feed: the newest revision, and the newest one that changes a setting. */
  readonly read?: { readonly revision: number; readonly setting: number };
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /** Called for each action, and for the first failure. */
  readonly onEvent: (site: Site, event: SiteEvent) => void;
  /** Reports whether a site has to wait: it is not followed before first contact. */
  readonly isHeld?: (site: Site) => boolean;
  /** Shorter waits for tests. */
  readonly times?: {
    readonly look?: number;
    readonly lookAgain?: number;
    /** Time limit of a call. */
    readonly call?: number;
    /** Between two probes of a site that is down. */
    readonly probe?: number;
  };
}

/** Exclusive work on a site. */
export interface Turn {
  readonly site: Site;
  readonly client: SiteClient;
  /** Runs a round. @throws SiteFailure, which is recorded. */
  round(options: RoundOptions): Promise<Round>;
}

/** Rounds on sites: one call at a time per site, a few sites at once. */
export interface Workers {
  /**
   * Runs work on a site after all earlier work on it.
   *
   * @throws what the work throws.
   */
  alone<T>(siteId: string, work: (turn: Turn) => Promise<T>): Promise<T>;
  /** One round on request. @throws SiteFailure, and records it. */
  round(site: Site, options: RoundOptions): Promise<Round>;
  /** Synchronizes or checks a site; concurrent callers share the next round. */
  follow(siteId: string): Promise<void>;
  /** Follows a site before its next try is due. A failure restarts the back-off. */
  retry(siteId: string): Promise<void>;
  /** Reports whether a site is due. */
  isDue(site: Site): boolean;
  close(): Promise<void>;
}

export function createWorkers(deps: WorkerDeps): Workers {
  const { registry, engine, hash, now } = deps;
  const { look = COMPARE_INTERVAL, lookAgain = RECHECK_INTERVAL, call } = deps.times ?? {};
  const clients = new Map<string, { readonly site: Site; readonly client: SiteClient }>();
  const queues = new Map<string, Promise<unknown>>();
  const followers = new Map<string, ReturnType<typeof oneAtATime<void>>>();
  const nextLook = new Map<string, number>();
  /** Each site as of its last check. */
  const looked = new Map<string, Site>();
  /** Sites that are tried before their back-off ends. */
  const retried = new Set<string>();
  const rateLimit = createRateLimit();
  let running = 0;
  const waiting: (() => void)[] = [];
  let closed = false;

  const isLookDue = (siteId: string): boolean =>
    hasCome(nextLook.get(siteId) ?? 0, { now: now(), longest: Math.max(look, lookAgain) });
  const isTryDue = (time: number): boolean => hasCome(time, { now: now(), longest: LONGEST_PAUSE });
  const clientOf = (site: Site): SiteClient => {
    const known = clients.get(site.id);
    if (known !== undefined && isSameAccess(known.site, site)) return known.client;
    known?.client.close();
    const client = createSiteClient(site, 1, call);
    clients.set(site.id, { site, client });
    return client;
  };
  /** Waits for a slot. @returns a function that releases it; repeated calls have no effect. */
  const enter = async (): Promise<() => void> => {
    if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      const next = waiting.shift();
      if (next !== undefined) next();
      else running -= 1;
    };
  };
  const alone: Workers["alone"] = (siteId, work) => {
    const before = queues.get(siteId) ?? Promise.resolve();
    const done = before.then(async () => {
      const leave = await enter();
      try {
        const site = registry.byId(siteId);
        if (site === undefined || closed) throw new SiteFailure("refused", message("SITE_GONE"));
        const client = clientOf(site);
        const round: Turn["round"] = (options) => attempt(site, client, options, leave);
        return await work({ site, client, round });
      } finally {
        leave();
      }
    });
    const quiet = done.catch(() => undefined);
    queues.set(siteId, quiet);
    void quiet.then(() => {
      if (queues.get(siteId) === quiet) queues.delete(siteId);
    });
    return done;
  };

  /** @param leave called after the last call to the site, before the state is written. */
  const attempt = async (
    site: Site,
    client: SiteClient,
    options: RoundOptions,
    leave: () => void,
  ): Promise<Round> => {
    const before = registry.state(site.id);
    looked.set(site.id, site);
    try {
      const snapshot = engine.snapshot();
      const found = await runRound(site, before, options, { client, hash, now, snapshot });
      leave();
      const isFront = site.upstream && site.mode === "follow" && options.aim === "push";
      const { maxValueBytes } = deps;
      const round = isFront
        ? await takeBack(found, { engine, snapshot, maxValueBytes, now })
        : found;
      // Another process has written the state, which is used instead; the site is checked again.
      const isPatient = options.actor === "sites" && !site.upstream;
      if (!(await registry.record(site.id, round.state, round.events, { isPatient }))) {
        nextLook.set(site.id, now());
        // Calls wait for the refusals.
        const { takenBack } = round.state;
        if (takenBack !== before.takenBack)
          await registry.record(site.id, { ...registry.state(site.id), takenBack });
        return round;
      }
      for (const event of round.events) deps.onEvent(site, event);
      planLook(site, round);
      return round;
    } catch (error) {
      if (!(error instanceof SiteFailure)) throw error;
      leave();
      await fail(site, before, error);
      throw error;
    }
  };

  /** An intermediate check does not delay an earlier one. */
  const planLook = (site: Site, { results, comparisons }: Round): void => {
    const isOpen = site.mode === "follow" && comparisons.some(isDiffering);
    const next = now() + (results.length > 0 || isOpen ? lookAgain : look);
    const planned = nextLook.get(site.id) ?? 0;
    const isPlanned = results.length === 0 && !isLookDue(site.id);
    nextLook.set(site.id, isPlanned ? Math.min(planned, next) : next);
  };

  const fail = async (site: Site, before: SiteState, failure: SiteFailure): Promise<void> => {
    const time = now();
    const failures = retried.has(site.id) ? 1 : before.failures + 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE);
    const isNew = before.error?.kind !== failure.kind;
    const state: SiteState = {
      ...before,
      failures,
      nextTry: time + Math.round(pause * (0.5 + deps.random() / 2)),
      error: {
        kind: failure.kind,
        message: failure.text,
        since: isNew ? time : (before.error?.since ?? time),
      },
    };
    const event: SiteEvent = {
      time,
      actor: "sites",
      action: "fail",
      keys: [],
      result: failure.text,
      revision: engine.snapshot().revision,
    };
    await registry.record(site.id, state, isNew ? [event] : [], { isPatient: true });
    if (isNew) deps.onEvent(site, event);
  };

  const followOnce = async (siteId: string): Promise<void> => {
    // A save waits for the upstream.
    if (registry.byId(siteId)?.upstream !== true) await rateLimit();
    await alone(siteId, async ({ site, round }) => {
      const { error, nextTry, appliedRevision } = registry.state(siteId);
      const isLooked = looked.get(siteId) === site && !isLookDue(siteId) && error === undefined;
      // Nothing to do: another round has pushed the revision, or only mounts have changed since.
      const newest = engine.snapshot().revision;
      const { revision, setting } = deps.read ?? { revision: 0, setting: newest };
      if (isLooked && appliedRevision >= Math.min(setting, newest)) {
        if (appliedRevision < revision && site.mode === "follow")
          await registry.record(siteId, { ...registry.state(siteId), appliedRevision: revision });
        return;
      }
      if (deps.isHeld?.(site) === true) return;
      const isLater = !isTryDue(nextTry) && !retried.has(siteId);
      if (site.paused || isLater || (error !== undefined && isLasting(error))) return;
      await round({ aim: site.mode === "follow" ? "push" : "look", actor: "sites" });
    }).catch((error: unknown) => {
      if (!(error instanceof SiteFailure)) throw error;
    });
  };

  const follow: Workers["follow"] = (siteId) => {
    const follower = followers.get(siteId) ?? oneAtATime(() => followOnce(siteId));
    followers.set(siteId, follower);
    return follower.run();
  };

  return {
    alone,
    round: (site, options) => alone(site.id, ({ round }) => round(options)),
    follow,
    retry: (siteId) => {
      retried.add(siteId);
      return follow(siteId).finally(() => retried.delete(siteId));
    },
    isDue: (site) => {
      const { error, nextTry } = registry.state(site.id);
      if (site.paused || followers.get(site.id)?.isRunning() === true) return false;
      if (error !== undefined) return !isLasting(error) && isTryDue(nextTry);
      return looked.get(site.id) !== site || isLookDue(site.id);
    },
    close: async () => {
      closed = true;
      for (const { client } of clients.values()) client.close();
      await waitAtMost(2_000, Promise.all(queues.values()));
    },
  };
}

function isDiffering({ sync }: Round["comparisons"][number]): boolean {
  return sync === "differs";
}

function isSameAccess(a: Site, b: Site): boolean {
  return a.url === b.url && a.token === b.token && a.ca === b.ca && a.pin === b.pin;
}
