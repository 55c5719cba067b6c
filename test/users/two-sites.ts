import { afterEach, beforeEach } from "vitest";
import type { SiteNote } from "../../src/sites/store.ts";
import type { UserResult } from "../../src/users/copy.ts";
import { type CopyOptions, createUserService, type UserService } from "../../src/users/service.ts";
import { type Follower, ORIGIN, startFollower } from "../sites/follower.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../sites/stand-in.ts";

/** The two sites of a test: `home` and `hut`. */
export let home: StandIn;
export let hut: StandIn;
export let mooring: Follower;
export let users: UserService;
/** Rows of the log of sites and of the audit. */
export let notes: SiteNote[];

/** AList with several roles. */
export const ALIST: StandInOptions = { manner: "alist", roleAsArray: true };
/** AList with one role as a number. */
export const OLD_ALIST: StandInOptions = { manner: "alist" };

/** Generated passwords, in order. */
export const RANDOM = "generated-password-";

/** Starts a process before each test of a file, and ends it and its sites after it. */
export function useUsers(): void {
  beforeEach(async () => {
    mooring = await startFollower();
    notes = [];
    let count = 0;
    users = createUserService({
      registry: mooring.sites.registry,
      clientOf: mooring.sites.sync.clientOf,
      store: { note: async (added) => void notes.push(...added) },
      revision: () => 1,
      now: () => 1_000,
      randomPassword: () => {
        count += 1;
        return `${RANDOM}${count}`;
      },
    });
  });
  afterEach(async () => {
    await mooring.close();
    await Promise.all([home?.stop(), hut?.stop()]);
  });
}

export async function openSites(from: StandInOptions = {}, to: StandInOptions = {}): Promise<void> {
  [home, hut] = await Promise.all([startStandIn(from), startStandIn(to)]);
  const { service } = mooring.sites;
  await service.create({ name: "home", url: home.url, token: home.token() }, ORIGIN);
  await service.create({ name: "hut", url: hut.url, token: hut.token() }, ORIGIN);
}

/** Copies users from `home` to `hut`, with random passwords. */
export function copy(
  options: Partial<CopyOptions> = {},
  signal = new AbortController().signal,
): Promise<readonly UserResult[]> {
  const passwords = { all: "", byName: {}, random: true };
  const all = { names: [], update: [], dryRun: false, passwords, ...options };
  return users.copy("home", "hut", all, { origin: ORIGIN, signal });
}

/** Result of one user. */
export async function copied(
  name: string,
  options: Partial<CopyOptions> = {},
): Promise<UserResult> {
  const found = (await copy(options)).find((result) => result.name === name);
  if (found === undefined) throw new Error(`no result for ${name}`);
  return found;
}
