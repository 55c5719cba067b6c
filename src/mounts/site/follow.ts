import { setTimeout as sleep } from "node:timers/promises";
import type { Lease } from "../../database/job.ts";
import { oneAtATime } from "../../database/replica.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { message } from "../../messages/message.ts";
import { waitAtMost } from "../../pause.ts";
import { hasCome, startPeriodic } from "../../periodic.ts";
import { createRateLimit } from "../../rate-limit.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { Site } from "../../sites/site.ts";
import { createSiteClient, type SiteClient } from "../../sync/client.ts";
import { isLasting, SiteFailure } from "../../sync/failure.ts";
import { isWaiting } from "./apply.ts";
import { createStorageClient, MOUNT_LIMIT } from "./client.ts";
import type { MountRegistry, MountRequest } from "./registry.ts";
import { LeaseLost, type MountRound, type MountRoundOptions, runMountRound } from "./round.ts";
import type { StorageRow, WantedMount } from "./row.ts";
import { listingForm, nextListing, type SiteMounts } from "./state.ts";

/** Interval of reading a site's mounts while no work is pending, in milliseconds. */
const LOOK = 60_000;
/** Interval after a change, or while one is in progress. */
const LOOK_AGAIN = 10_000;
/** First and longest pause after a site could not be reached. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;
/**
 * Minimum interval between the starts of work on two mounts of any sites, in milliseconds. Each
 * takes 2 to 4 ms of the event loop; the rest is for other calls.
 */
const GAP = 8;
/** Maximum wait of a user's change for other work on its site, in milliseconds. */
const TURN = 5_000;
/** Interval of checking for due work. */
const BEAT = 1_000;

export interface MountFollowDeps {
  readonly sites: Pick<SiteRegistry, "sites" | "byId" | "state">;
  readonly registry: MountRegistry;
  /** Lease of the one process that writes to sites. */
  readonly lease: Lease;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly random: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Desired mounts of a site, with its overrides applied. */
  readonly wantedOf: (site: Site) => readonly WantedMount[];
  /** Calls the listener after each change of mounts. @returns a function that ends this. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Called after each round with an effect, with content for adoption. */
  readonly onRound: (site: Site, round: MountRound) => void | Promise<void>;
  /** Called with the rows of each list that was read in the background. */
  readonly onList?: (site: Site, rows: MountRound["rows"]) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Shorter waits for tests, in milliseconds. */
  readonly times?: {
    readonly look?: number;
    readonly lookAgain?: number;
    readonly beat?: number;
    /** Time limit of a call that mounts. */
    readonly call?: number;
  };
}

/** Background work on the mounts of all sites. */
export interface MountFollow {
  /** Runs a round now, or shares the next one. @throws SiteFailure. */
  follow(siteId: string): Promise<void>;
  /** Reads a site's mounts without writing to the site. @throws SiteFailure. */
  look(siteId: string): Promise<MountRound>;
  /**
   * Requests a push of mounts, or records adopted ones. Failed and paused mounts are retried, and a
   * site with existing mounts is written to from now on. The process with the lease executes the
   * request.
   */
  ask(siteId: string, request: MountRequest): Promise<void>;
  /**
   * Forwards a change that a user makes on the server's own pages, then reads the site's mounts. No
   * round runs in between, which would revert the change.
   *
   * @param pass sends the request, after at most 5 s even if a round is still running. @param
   *   take adopts the change, and returns the states of the adopted mounts.
   */
  passing(
    siteId: string,
    pass: () => Promise<void>,
    take: (round: MountRound) => Promise<MountRequest["states"]>,
  ): Promise<void>;
  /** Client of a site's mounts; calls wait for running ones. */
  clientOf(site: Site): SiteClient;
  /**
   * Stores the result of a listing of a mount; the process with the lease does it on request.
   *
   * @param classOf the class of an error.
   */
  record(
    siteId: string,
    row: StorageRow,
    error: string,
    classOf: (error: string) => string,
  ): Promise<void>;
  isLeader(): boolean;
  close(): Promise<void>;
}

/** Starts following the mounts of all sites, unless another process does. */
export async function startMountFollow(deps: MountFollowDeps): Promise<MountFollow> {
  const { sites, registry, lease, now, onError } = deps;
  const { look = LOOK, lookAgain = LOOK_AGAIN, call = MOUNT_LIMIT } = deps.times ?? {};
  const clients = new Map<string, { readonly site: Site; readonly client: SiteClient }>();
  const rounds = new Map<string, ReturnType<typeof oneAtATime<void>>>();
  const next = new Map<string, number>();
  /** Sites whose mounts could not be read, as they were then. */
  const failed = new Map<
    string,
    { readonly site: Site; readonly at: number; readonly lasts: boolean }
  >();
  const pace = createRateLimit(GAP);
  let closed = false;
  const clientOf = (site: Site): SiteClient => {
    const known = clients.get(site.id);
    if (known?.site === site) return known.client;
    known?.client.close();
    // A separate connection, so that settings and other calls do not wait for a hanging mount.
    const client = createSiteClient(site, 1, call);
    clients.set(site.id, { site, client });
    return client;
  };
  const roundOf = (
    site: Site,
    aim: MountRoundOptions["aim"],
    insist: readonly string[],
    on: MountRegistry = registry,
  ) =>
    runMountRound(
      { siteId: site.id, aim, insist },
      {
        ...deps,
        registry: on,
        pace,
        client: createStorageClient(clientOf(site), call),
        wanted: () => deps.wantedOf(site),
        mayWrite: () => lease.isHeld() && !closed && sites.byId(site.id)?.paused === false,
        follows: () => sites.byId(site.id)?.mode === "follow",
      },
    );
  const turns = new Map<string, Promise<void>>();
  /** Runs work on a site's mounts after earlier work. */
  const alone = async (siteId: string, work: () => Promise<void>): Promise<void> => {
    const turn = (turns.get(siteId) ?? Promise.resolve()).then(work);
    turns.set(
      siteId,
      turn.catch(() => undefined),
    );
    return turn;
  };
  const lookAt = async (siteId: string): Promise<MountRound> => {
    const site = sites.byId(siteId);
    if (site === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    return roundOf(site, "look", [], { ...registry, put: async () => undefined });
  };
  const followOnce = async (siteId: string): Promise<void> => {
    const site = sites.byId(siteId);
    if (site === undefined || site.paused || !lease.isHeld() || closed) return;
    await pace();
    const { insist } = registry.site(siteId);
    try {
      const round = await roundOf(site, "push", insist);
      failed.delete(siteId);
      await deps.onList?.(site, round.rows);
      const states = [...registry.mounts(siteId).values()];
      const isBusy = round.done.length > 0 || states.some(({ since }) => since > 0);
      const tries = states.flatMap((state) => (isWaiting(state, now()) ? [state.nextTry] : []));
      next.set(siteId, Math.min(now() + (isBusy ? lookAgain : look), ...tries));
      if (round.done.length > 0 || Object.keys(round.take).length > 0)
        await deps.onRound(site, round);
    } catch (error) {
      if (error instanceof LeaseLost) return;
      if (!(error instanceof SiteFailure)) throw error;
      failed.set(siteId, { site, at: now(), lasts: isLasting(error) });
      await fail(siteId, error);
    }
  };
  const fail = async (siteId: string, { kind, message }: SiteFailure): Promise<void> => {
    const before = registry.site(siteId);
    const failures = before.failures + 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE);
    const nextTry = now() + Math.round(pause * (0.5 + deps.random() / 2));
    next.set(siteId, nextTry);
    const site: SiteMounts = { ...before, failures, nextTry, error: message, errorKind: kind };
    await registry.put(siteId, { site });
  };
  const follow = (siteId: string): Promise<void> => {
    const round = rounds.get(siteId) ?? oneAtATime(() => alone(siteId, () => followOnce(siteId)));
    rounds.set(siteId, round);
    return round.run();
  };
  const isDue = (site: Site): boolean => {
    if (site.paused || rounds.get(site.id)?.isRunning() === true) return false;
    const failure = failed.get(site.id);
    if (failure !== undefined) {
      // It has another address or token, or its settings could be read in the meantime.
      const { error, reachedAt } = sites.state(site.id);
      if (failure.site !== site || (error === undefined && reachedAt > failure.at)) return true;
      if (failure.lasts) return false;
    }
    const longest = Math.max(look, lookAgain, LONGEST_PAUSE);
    return hasCome(next.get(site.id) ?? 0, { now: now(), longest });
  };
  const answer = async (): Promise<void> => {
    const carryOut = async (siteId: string): Promise<void> => {
      await alone(siteId, () => registry.answer(siteId));
      await follow(siteId);
    };
    await Promise.all([...(await registry.asked())].map(carryOut));
  };
  const beat = async (): Promise<void> => {
    const all = sites.sites();
    if (all.length === 0) return;
    const wasHeld = lease.isHeld();
    await lease.renew();
    // Another process has written the states until now, or does so from now on.
    if (!wasHeld || !lease.isHeld()) await registry.load();
    if (!lease.isHeld()) return;
    void answer().catch(onError);
    for (const site of all) if (isDue(site)) void follow(site.id).catch(onError);
  };
  const unsubscribe = deps.subscribe(() => {
    if (!lease.isHeld()) return;
    // Observed sites are read again: their mounts may be equal to Mooring's now.
    for (const site of sites.sites())
      if (!site.paused && registry.site(site.id).failures === 0)
        void follow(site.id).catch(onError);
  });
  await registry.load();
  await beat();
  const job = startPeriodic(beat, { interval: deps.times?.beat ?? BEAT, onError });
  return {
    follow,
    look: lookAt,
    passing: async (siteId, pass, take) => {
      let passed: Promise<void> | undefined;
      const turn = alone(siteId, async () => {
        passed ??= pass();
        await passed;
        const states = await take(await lookAt(siteId));
        // Runs before the next round, which would revert the adopted change.
        if (Object.keys(states).length === 0) return;
        await registry.ask(siteId, { insist: [], states });
        if (lease.isHeld()) await registry.answer(siteId);
      }).catch((error: unknown) => {
        // The user's request is forwarded nevertheless; the next round reads its result.
        if (!(error instanceof SiteFailure)) onError(error);
      });
      await waitAtMost(TURN, turn);
      passed ??= pass();
      await passed;
      await waitAtMost(TURN, turn);
    },
    ask: async (siteId, request) => {
      if (sites.byId(siteId) === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
      await registry.ask(siteId, request);
      if (!lease.isHeld()) {
        // The first site was just added, or the process with the lease has ended.
        await lease.renew();
        if (lease.isHeld()) await registry.load();
      }
      if (lease.isHeld()) await answer();
    },
    clientOf,
    record: async (siteId, row, error, classOf) => {
      const path = row.mount_path;
      const listing = nextListing(registry.listings(siteId).get(path), {
        form: listingForm(row),
        driver: row.driver,
        at: now(),
        error,
        class: error === "" ? "" : classOf(error),
      });
      if (lease.isHeld()) return registry.put(siteId, { listings: { [path]: listing } });
      await registry.ask(siteId, { insist: [], states: {}, listings: { [path]: listing } });
      for (let waited = 0; waited < RESULT_WAIT; waited += RESULT_LOOK) {
        await sleep(RESULT_LOOK);
        await registry.load();
        if ((registry.listings(siteId).get(path)?.at ?? 0) >= listing.at) return;
      }
    },
    isLeader: lease.isHeld,
    close: async () => {
      closed = true;
      await job.stop();
      unsubscribe();
      for (const { client } of clients.values()) client.close();
      await Promise.allSettled(
        [...rounds.values()].filter((r) => r.isRunning()).map((r) => r.run()),
      );
      await lease.release().catch(onError);
    },
  };
}

/** Maximum number of rounds of a sync. */
const ROUNDS = 3;
/** Interval of reading the results of another process, in milliseconds. */
const RESULT_LOOK = 200;
/** Maximum wait for another process to store the result of a listing, in milliseconds. */
const RESULT_WAIT = 5_000;

/**
 * Pushes mounts to a site on request, and waits for the result. A second round reads the result of
 * the first one to confirm it. If another process follows mounts, this function waits for that
 * process, at most the time limit of one mount.
 *
 * @throws SiteFailure.
 */
export async function syncSite(
  siteId: string,
  names: readonly string[],
  {
    follow,
    registry,
  }: {
    readonly follow: Pick<MountFollow, "ask" | "follow" | "isLeader">;
    readonly registry: Pick<MountRegistry, "load" | "mounts" | "site" | "asked">;
  },
): Promise<void> {
  /** Whether another process has not executed the request yet. */
  const isAsked = async (): Promise<boolean> =>
    (await registry.asked()).has(siteId) ||
    registry.site(siteId).insist.some((name) => open.includes(name));
  const isOpen = (name: string): boolean => {
    const state = registry.mounts(siteId).get(name);
    return state === undefined || (state.phase !== "" && state.error === "");
  };
  let open: readonly string[] = names;
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    await follow.ask(siteId, { insist: open, states: {} });
    if (follow.isLeader()) await follow.follow(siteId);
    else
      for (let waited = 0; waited < MOUNT_LIMIT; waited += RESULT_LOOK) {
        await sleep(RESULT_LOOK);
        await registry.load();
        if (!open.some(isOpen) && !(await isAsked())) break;
      }
    open = open.filter(isOpen);
  }
}
