import { afterEach, beforeEach, expect } from "vitest";
import {
  ALL,
  type Follower,
  type FollowerOptions,
  followSite,
  ORIGIN,
  startFollower,
} from "./follower.ts";
import { type StandIn, type StandInOptions, startStandIn } from "./stand-in.ts";

/** The process that follows sites. */
export let mooring: Follower;
/** The only site. */
export let site: StandIn;

/** Starts a process and a site before each test of a file, and ends them after it. */
export function useOneSite(options?: FollowerOptions): void {
  beforeEach(async () => {
    [mooring, site] = await Promise.all([startFollower(options), startStandIn()]);
  });
  afterEach(async () => {
    await mooring.close();
    await site.stop();
  });
}

/** Replaces the process by another one, with its own database. */
export async function anotherFollower(options: FollowerOptions): Promise<void> {
  await mooring.close();
  mooring = await startFollower(options);
}

/** Replaces the site by another one. */
export async function another(options: StandInOptions): Promise<void> {
  await site.stop();
  site = await startStandIn(options);
}

export const soon = <T>(look: () => T) => expect.poll(look);
export const service = () => mooring.sites.service;
export const SYNC = { ...ALL, connectDownloaders: false };

export async function add(input: Parameters<ReturnType<typeof service>["create"]>[0] = {}) {
  return service().create({ name: "one", url: site.url, token: site.token(), ...input }, ORIGIN);
}

/** A site with Mooring's values and mode follow. */
export const following = (): Promise<void> => followSite(mooring, site);

export const state = () => service().get("one").state;
/** Waits until the site has the newest revision. */
export const upToDate = () => soon(() => state().appliedRevision).toBe(service().revision());
