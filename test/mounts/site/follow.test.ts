import { afterEach, expect, test } from "vitest";
import { createMountBook, type MountStateStore } from "../../../src/mounts/site/book.ts";
import { type MountFollow, startMountFollow } from "../../../src/mounts/site/follow.ts";
import type { MountRound } from "../../../src/mounts/site/round.ts";
import type { WantedMount } from "../../../src/mounts/site/wanted.ts";
import type { Site } from "../../../src/sites/site.ts";
import { driverByName, hash, memoryStore, mount, writes } from "./desk.ts";
import { type Storages, startStorages } from "./stand-in.ts";

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function storages(): Promise<Storages> {
  const site = await startStorages(driverByName);
  ends.push(() => site.stop());
  return site;
}

function siteOf({ url, token }: Storages, id: string, changes: Partial<Site> = {}): Site {
  return {
    ...{ id, name: id, url, token, ca: "", pin: "", mode: "follow", include: [], exclude: [] },
    ...{ overrides: {}, paused: false, upstream: false, created: 0 },
    ...changes,
  };
}

interface Process {
  readonly follow: MountFollow;
  readonly rounds: [string, MountRound][];
  readonly book: ReturnType<typeof createMountBook>;
  /** Mounts by the id of their site. */
  set(wanted: Readonly<Record<string, WantedMount[]>>): void;
}

async function start(
  sites: readonly Site[],
  options: { store?: MountStateStore; leader?: () => boolean; call?: number } = {},
): Promise<Process> {
  const { store = memoryStore(), leader = () => true } = options;
  const book = createMountBook(store);
  let wanted: Readonly<Record<string, WantedMount[]>> = {};
  const listeners = new Set<() => void>();
  const rounds: [string, MountRound][] = [];
  const follow = await startMountFollow({
    ...{ book, hash, driverOf: driverByName, now: Date.now, random: () => 0 },
    sites: { sites: () => sites, byId: (id) => sites.find((site) => site.id === id) },
    lease: { isHeld: leader, renew: async () => undefined, release: async () => undefined },
    wantedOf: ({ id }) => wanted[id] ?? [],
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onRound: (site, round) => void rounds.push([site.id, round]),
    onError: (error) => {
      throw error;
    },
    times: { beat: 20, look: 60_000, lookAgain: 60_000, call: options.call ?? 10_000 },
  });
  ends.push(() => follow.close());
  return {
    ...{ follow, rounds, book },
    set: (next) => {
      wanted = next;
      for (const listener of listeners) listener();
    },
  };
}

test("a mount that hangs on one site holds up neither other sites nor the process", async () => {
  const [slow, quick] = [await storages(), await storages()];
  const gate = Promise.withResolvers<void>();
  slow.providers.set("AList V3", () => gate.promise);
  const { set } = await start([siteOf(slow, "slow"), siteOf(quick, "quick")]);
  const items = { url: "https://up.example", token: "t" };
  set({ slow: [mount({ driver: "AList V3", items })], quick: [mount()] });
  await expect.poll(() => quick.row("/films")?.status).toBe("work");
  expect(slow.row("/films")?.status).toBe("");
  set({
    slow: [mount({ driver: "AList V3", items })],
    quick: [mount({ revision: 2, members: { order: 5 } })],
  });
  await expect.poll(() => quick.row("/films")?.order).toBe(5);
  gate.resolve();
  await expect.poll(() => slow.row("/films")?.status).toBe("work");
});

test("one mount of a site is written at a time, and the newest revision is what arrives", async () => {
  const site = await storages();
  let [active, most] = [0, 0];
  site.hold = async (stage) => {
    if (!stage.startsWith("POST")) return;
    active += 1;
    most = Math.max(most, active);
    await new Promise((resolve) => setTimeout(resolve, 2));
    active -= 1;
  };
  const { set } = await start([siteOf(site, "a")]);
  const all = (revision: number) =>
    Array.from({ length: 5 }, (_each, at) =>
      mount({ name: `m${at}`, path: `/m${at}`, revision, members: { order: revision } }),
    );
  for (let revision = 1; revision <= 6; revision += 1) {
    set({ a: all(revision) });
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  await expect
    .poll(() => [...site.rows.values()].map(({ order }) => order), { timeout: 5_000 })
    .toEqual([6, 6, 6, 6, 6]);
  expect(most).toBe(1);
});

test("a site that is observed or paused is not written to", async () => {
  const [seen, paused] = [await storages(), await storages()];
  const { set, follow, book } = await start([
    siteOf(seen, "seen", { mode: "observe" }),
    siteOf(paused, "paused", { paused: true }),
  ]);
  set({ seen: [mount()], paused: [mount()] });
  await follow.follow("seen");
  await follow.follow("paused");
  expect(writes(seen)).toEqual([]);
  expect(paused.calls).toEqual([]);
  expect(book.site("seen").readAt).toBeGreaterThan(0);
});

test("a site that can't be reached is tried again after a pause", async () => {
  const site = await storages();
  const { set, book } = await start([siteOf(site, "a")]);
  await site.stop();
  set({ a: [mount()] });
  await expect.poll(() => book.site("a").errorKind).toBe("unreachable");
  await site.start();
  await expect.poll(() => site.row("/films")?.status, { timeout: 5_000 }).toBe("work");
  expect(book.site("a")).toMatchObject({ error: "", failures: 0 });
});

test("first contact waits for a choice, which another process may make", async () => {
  const site = await storages();
  const before = await start([siteOf(site, "a")]);
  before.set({ a: [mount({ name: "theirs", path: "/theirs" })] });
  await expect.poll(() => site.row("/theirs")?.status).toBe("work");
  await before.follow.close();
  const store = memoryStore();
  const leader = await start([siteOf(site, "a")], { store });
  const other = await start([siteOf(site, "a")], { store, leader: () => false });
  const count = writes(site).length;
  leader.set({ a: [mount()] });
  await leader.follow.follow("a");
  expect(writes(site)).toHaveLength(count);
  expect(leader.book.site("a")).toMatchObject({ met: false, extra: [{ path: "/theirs" }] });
  const { extra } = await other.follow.look("a");
  expect(extra).toMatchObject([{ path: "/theirs", driver: "Local" }]);
  await other.follow.ask("a", { insist: ["films"], states: {} });
  await expect.poll(() => site.row("/films")?.status).toBe("work");
  // What Mooring does not have stays.
  expect(site.row("/theirs")?.status).toBe("work");
  expect(leader.book.site("a").met).toBe(true);
});

test("a process that loses the lease writes nothing more", async () => {
  const site = await storages();
  let isHeld = true;
  const { set, follow } = await start([siteOf(site, "a")], { leader: () => isHeld });
  site.hold = (stage) => {
    if (stage === "GET /api/admin/storage/list") isHeld = false;
  };
  set({ a: [mount()] });
  await follow.follow("a");
  expect(writes(site)).toEqual([]);
});
