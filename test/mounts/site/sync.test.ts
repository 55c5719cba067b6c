import { afterEach, expect, test } from "vitest";
import { adoptMountsOf, type Found, findMounts } from "../../../src/mounts/site/adoption.ts";
import { createMountRegistry } from "../../../src/mounts/site/registry.ts";
import type { MountRound } from "../../../src/mounts/site/round.ts";
import type { WantedMount } from "../../../src/mounts/site/row.ts";
import { NEW_MOUNT } from "../../../src/mounts/site/state.ts";
import { createMountSync, type MountSync } from "../../../src/mounts/site/sync.ts";
import type { Site } from "../../../src/sites/site.ts";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { createSync } from "../../../src/sync/sync.ts";
import { sampleSite } from "../../sites/sample.ts";
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
  return sampleSite({ id, name: id, url, token, ...changes });
}

interface Process {
  readonly sync: MountSync;
  readonly close: () => Promise<void>;
  readonly rounds: [string, MountRound][];
  readonly registry: ReturnType<typeof createMountRegistry>;
  readonly store: RecordStateStore;
  /** Mounts by the id of their site. */
  set(wanted: Readonly<Record<string, WantedMount[]>>): void;
}

async function start(
  sites: readonly Site[],
  options: { store?: RecordStateStore; leader?: () => boolean; call?: number } = {},
): Promise<Process> {
  const { store = memoryStore(), leader = () => true } = options;
  const registry = createMountRegistry(store);
  let wanted: Readonly<Record<string, WantedMount[]>> = {};
  const rounds: [string, MountRound][] = [];
  const onError = (error: unknown): void => {
    throw error;
  };
  const all = {
    sites: () => sites,
    byId: (id: string) => sites.find((site) => site.id === id),
    load: async () => undefined,
  };
  const common = createSync<Site>({
    lease: { isHeld: leader, renew: async () => undefined, release: async () => undefined },
    sites: all,
    probe: async () => false,
    now: Date.now,
    random: () => 0,
    onError,
    times: { tick: 20 },
  });
  const sync = createMountSync({
    rulesFirst: async () => [],
    sync: common,
    registry,
    hash,
    driverOf: driverByName,
    now: Date.now,
    sites: all,
    wantedOf: ({ id }) => wanted[id] ?? [],
    onError,
    times: { read: 60_000, reread: 60_000, call: options.call ?? 10_000 },
  });
  sync.onRound((site, round) => void rounds.push([site.id, round]));
  await common.start();
  ends.push(common.close);
  return {
    sync,
    close: common.close,
    rounds,
    registry,
    store,
    set: (next) => {
      wanted = next;
      sync.changed();
    },
  };
}

test("a mount that hangs on one site delays neither other sites nor the process", async () => {
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

test("mounts of a site are written one at a time, with the newest revision", async () => {
  const site = await storages();
  const { set } = await start([siteOf(site, "a")]);
  let revision = 1;
  const setAll = (): void => {
    const mounts = Array.from({ length: 5 }, (_each, at) =>
      mount({ name: `m${at}`, path: `/m${at}`, revision, members: { order: revision } }),
    );
    set({ a: mounts });
  };
  let [active, most] = [0, 0];
  site.hold = async (stage) => {
    if (!stage.startsWith("POST")) return;
    active += 1;
    most = Math.max(most, active);
    if (revision < 6) {
      revision += 1;
      setAll();
    }
    // Another write would reach the server before these requests.
    for (let request = 0; request < 3; request += 1)
      await (await fetch(`${site.url}/other`)).arrayBuffer();
    active -= 1;
  };
  setAll();
  await expect
    .poll(() => [...site.rows.values()].map(({ order }) => order))
    .toEqual([6, 6, 6, 6, 6]);
  expect(most).toBe(1);
});

test("a site that is observed or paused is not written to", async () => {
  const [seen, paused] = [await storages(), await storages()];
  const { set, sync, registry } = await start([
    siteOf(seen, "seen", { mode: "observe" }),
    siteOf(paused, "paused", { paused: true }),
  ]);
  set({ seen: [mount()], paused: [mount()] });
  await sync.reconcile("seen");
  await sync.reconcile("paused");
  expect(writes(seen)).toEqual([]);
  expect(paused.calls).toEqual([]);
  expect(registry.site("seen").readAt).toBeGreaterThan(0);
});

test("a site set to observe during a round: the mount in progress is finished, no other is written or removed", async () => {
  const site = await storages();
  const names = ["films", "books", "songs"];
  const all = (order: number) =>
    names.map((name) => mount({ name, path: `/${name}`, revision: order, members: { order } }));
  const sites = [siteOf(site, "a")];
  const { set, sync } = await start(sites);
  set({ a: all(1) });
  await expect
    .poll(() => [...site.rows.values()].map(({ status }) => status))
    .toEqual(["work", "work", "work"]);
  const gate = Promise.withResolvers<void>();
  const isUpdate = (call: string): boolean => call.endsWith("/update");
  site.hold = (stage) => (isUpdate(stage) ? gate.promise : undefined);
  set({ a: all(2).filter(({ name }) => name !== "songs") });
  await expect.poll(() => site.calls.some(({ call }) => isUpdate(call))).toBe(true);
  sites[0] = siteOf(site, "a", { mode: "observe" });
  gate.resolve();
  await sync.reconcile("a");
  expect(
    [...site.rows.values()].map(({ mount_path: path, order, status }) => [path, order, status]),
  ).toEqual([
    ["/films", 2, "work"],
    ["/books", 1, "work"],
    ["/songs", 1, "work"],
  ]);
});

test("a sync of one mount of an observed site writes that mount only, and removes no other", async () => {
  const site = await storages();
  const names = ["films", "books", "songs"];
  const all = (order: number) =>
    names.map((name) => mount({ name, path: `/${name}`, revision: order, members: { order } }));
  const first = await start([siteOf(site, "a")]);
  first.set({ a: all(1) });
  await expect
    .poll(() => [...site.rows.values()].map(({ status }) => status))
    .toEqual(["work", "work", "work"]);
  await first.close();
  const { set, sync } = await start([siteOf(site, "a", { mode: "observe" })], {
    store: first.store,
  });
  set({ a: all(2).filter(({ name }) => name !== "songs") });
  await sync.push("a", ["films"]);
  await sync.reconcile("a");
  expect([...site.rows.values()].map(({ mount_path: path, order }) => [path, order])).toEqual([
    ["/films", 2],
    ["/books", 1],
    ["/songs", 1],
  ]);
  // Removed mounts can be named as well.
  await sync.request("a", { forced: ["songs"], states: {} });
  await expect.poll(() => site.row("/songs")).toBeUndefined();
  expect(site.row("/books")?.order).toBe(1);
});

test("a mount that an observed site has already is up to date after each of its changes", async () => {
  const site = await storages();
  const first = await start([siteOf(site, "a")]);
  first.set({ a: [mount({ members: { order: 3 } })] });
  await expect.poll(() => site.row("/films")?.status).toBe("work");
  await first.close();
  const { set, registry } = await start([siteOf(site, "a", { mode: "observe" })]);
  const count = writes(site).length;
  const films = () => registry.records("a").get("films");
  // Another value for another site, for example.
  set({ a: [mount({ members: { order: 3 }, revision: 7 })] });
  await expect.poll(films).toMatchObject({ applied: 7, differs: [] });
  set({ a: [mount({ members: { order: 4 }, revision: 8 })] });
  await expect.poll(films).toMatchObject({ applied: 7, differs: ["order"] });
  expect(writes(site)).toHaveLength(count);
});

test("a site that cannot be reached is tried again after a pause", async () => {
  const site = await storages();
  const { set, registry } = await start([siteOf(site, "a")]);
  await site.stop();
  set({ a: [mount()] });
  await expect.poll(() => registry.site("a").errorKind).toBe("unreachable");
  await site.start();
  await expect.poll(() => site.row("/films")?.status).toBe("work");
  expect(registry.site("a")).toMatchObject({ error: "", failures: 0 });
});

test("first contact waits for a choice, which another process may make", async () => {
  const site = await storages();
  const before = await start([siteOf(site, "a")]);
  before.set({ a: [mount({ name: "theirs", path: "/theirs" })] });
  await expect.poll(() => site.row("/theirs")?.status).toBe("work");
  await before.close();
  const store = memoryStore();
  const leader = await start([siteOf(site, "a")], { store });
  const other = await start([siteOf(site, "a")], { store, leader: () => false });
  const count = writes(site).length;
  leader.set({ a: [mount()] });
  await leader.sync.reconcile("a");
  expect(writes(site)).toHaveLength(count);
  expect(leader.registry.site("a")).toMatchObject({
    contacted: false,
    extra: [{ path: "/theirs" }],
  });
  const { extra } = await other.sync.read("a");
  expect(extra).toMatchObject([{ path: "/theirs", driver: "Local" }]);
  await other.sync.request("a", { forced: ["films"], states: {} });
  await expect.poll(() => site.row("/films")?.status).toBe("work");
  // Mounts that Mooring does not have are kept.
  expect(site.row("/theirs")?.status).toBe("work");
  expect(leader.registry.site("a").contacted).toBe(true);
});

test("a push that another process carries out ends with it, or with its caller", async () => {
  const site = await storages();
  const store = memoryStore();
  const leader = await start([siteOf(site, "a")], { store });
  const other = await start([siteOf(site, "a")], { store, leader: () => false });
  const gate = Promise.withResolvers<void>();
  site.providers.set("AList V3", () => gate.promise);
  const items = { url: "https://up.example", token: "t" };
  const wanted = { a: [mount({ driver: "AList V3", items })] };
  leader.set(wanted);
  other.set(wanted);
  const caller = new AbortController();
  const pushes = [
    other.sync.push("a", ["films"], caller.signal).then(
      () => "done",
      (reason) => reason,
    ),
    other.sync.push("a", ["films"]).then(() => other.registry.records("a").get("films")?.applied),
  ];
  await expect.poll(() => site.row("/films")?.status).toBe("");
  caller.abort("the caller has gone");
  // The mount still hangs.
  expect(await pushes[0]).toBe("the caller has gone");
  gate.resolve();
  expect(await pushes[1]).toBe(1);
  const { signal } = caller;
  await expect(leader.sync.push("a", ["films"], signal)).rejects.toBe("the caller has gone");
});

test("a push that another process has begun ends with it, whatever was read before it began", async () => {
  const site = await storages();
  const store = memoryStore();
  const leader = await start([siteOf(site, "a")], { store });
  let reads = 0;
  let reading: PromiseWithResolvers<void> | undefined;
  const moreReads = async (count: number): Promise<void> => {
    const before = reads;
    await expect.poll(() => reads).toBeGreaterThan(before + count);
  };
  const marks: RecordStateStore["marks"] = async () => {
    const read = await store.marks();
    reads += 1;
    await reading?.promise;
    return read;
  };
  const other = await start([siteOf(site, "a")], {
    store: { ...store, marks },
    leader: () => false,
  });
  const wanted = { a: [mount()] };
  leader.set(wanted);
  other.set(wanted);
  await other.sync.push("a", ["films"]);
  expect(site.row("/films")?.status).toBe("work");
  await moreReads(2);
  // A read of the other process that has begun before the push ends after the push was taken over.
  reading = Promise.withResolvers();
  await moreReads(0);
  const round = Promise.withResolvers<void>();
  site.hold = () => round.promise;
  let isDone = false;
  const push = other.sync.push("a", ["films"]).then(() => {
    isDone = true;
  });
  await expect.poll(() => leader.registry.site("a").forced).toEqual(["films"]);
  await expect.poll(() => leader.registry.requested()).toEqual(new Set());
  reading.resolve();
  await moreReads(2);
  expect(isDone).toBe(false);
  round.resolve();
  await push;
  expect(leader.registry.site("a").forced).toEqual([]);
});

test("a choice made during a round is kept", async () => {
  const site = await storages();
  const before = await start([siteOf(site, "a")]);
  before.set({ a: [mount({ name: "theirs", path: "/theirs" })] });
  await expect.poll(() => site.row("/theirs")?.status).toBe("work");
  await before.close();
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const memory = memoryStore();
  const store: RecordStateStore = {
    ...memory,
    write: async (changes) => {
      // The round has read the list, and stores its result.
      if (changes.some(({ name }) => name === "")) {
        begun.resolve();
        await gate.promise;
      }
      return memory.write(changes);
    },
  };
  const { set, sync, registry } = await start([siteOf(site, "a")], { store });
  set({ a: [mount()] });
  await begun.promise;
  const states = { films: { ...NEW_MOUNT, applied: 9 } };
  const requests = Promise.all([
    sync.request("a", { forced: [], states: {} }),
    sync.request("a", { forced: ["films"], states }),
  ]);
  await expect.poll(async () => (await memory.list("requests")).length).toBeGreaterThan(0);
  gate.resolve();
  await requests;
  await sync.reconcile("a");
  expect(registry.site("a")).toMatchObject({ contacted: true, forced: [] });
  expect(site.row("/films")?.status).toBe("work");
  expect(await memory.list("requests")).toEqual([]);
});

test("a process that loses the lease writes nothing more", async () => {
  const site = await storages();
  let isHeld = true;
  const { set, sync } = await start([siteOf(site, "a")], { leader: () => isHeld });
  site.hold = (stage) => {
    if (stage === "GET /api/admin/storage/list") isHeld = false;
  };
  set({ a: [mount()] });
  await sync.reconcile("a");
  expect(writes(site)).toEqual([]);
});

test("a change on the server's own pages is adopted as its user's change, not reverted", async () => {
  const site = await storages();
  const { set, sync, registry } = await start([siteOf(site, "a")]);
  let wanted = [mount({ members: { remark: "ours" } }), mount({ name: "old", path: "/old" })];
  set({ a: wanted });
  await expect.poll(() => site.row("/old")?.status).toBe("work");
  await sync.reconcile("a");
  const saved: Found[] = [];
  const call = async (path: string, body?: object) => {
    const headers = { authorization: site.token, "content-type": "application/json" };
    const url = `${site.url}/api/admin/storage/${path}`;
    const init = { method: "POST", headers };
    const reply = await fetch(url, body ? { ...init, body: JSON.stringify(body) } : init);
    expect(await reply.json()).toMatchObject({ code: 200 });
  };
  const row = site.row("/films");
  const taking = (pass: () => Promise<void>) =>
    sync.forward("a", pass, async (round) => {
      const known = registry.records("a");
      const found = findMounts(round, {
        names: [],
        wanted,
        known,
        driverOf: driverByName,
        taken: ["films", "old"],
      });
      const save = async (what: Found): Promise<WantedMount[]> => {
        saved.push(what);
        const kept = wanted.filter(
          ({ name }) => !what.gone.includes(name) && !what.mounts.some((one) => one.name === name),
        );
        wanted = [...kept, ...what.mounts.map((one) => mount({ ...one, revision: 2 }))];
        set({ a: wanted });
        return wanted;
      };
      return adoptMountsOf(found, { known, hash, save });
    });
  const before = site.calls.length;
  await Promise.all([
    taking(() => call("update", { ...row, remark: "a user's", order: 8 })),
    sync.reconcile("a"),
  ]);
  expect(saved[0]?.mounts).toMatchObject([
    { name: "films", isNew: false, members: { remark: "a user's" } },
  ]);
  await taking(() => call("create", { ...row, mount_path: "/films/4K Ünï", id: undefined }));
  expect(saved[1]?.mounts).toMatchObject([
    { name: "films-4K-Uni", isNew: true, path: "/films/4K Ünï" },
  ]);
  const old = site.row("/old")?.id;
  await taking(() => call(`delete?id=${old}`));
  expect(saved[2]).toMatchObject({ mounts: [], gone: ["old"] });
  await sync.reconcile("a");
  // Mooring itself has sent nothing.
  const calls = site.calls.slice(before).map(({ call: name }) => name);
  expect(calls.filter((name) => name.startsWith("POST"))).toHaveLength(3);
  expect(site.row("/films")).toMatchObject({ remark: "a user's", order: 8 });
});

test("all mounts of a server are adopted at first contact, and nothing is written to it", async () => {
  const site = await storages();
  const first = await start([siteOf(site, "a")]);
  const items = { url: "https://up.example", username: "u", password: "p", token: "t" };
  const theirs = mount({
    name: "x",
    path: "/remote",
    driver: "AList V3",
    items,
    members: { remark: "r" },
  });
  first.set({ a: [theirs, mount({ name: "y", path: "/films" })] });
  await expect.poll(() => site.rows.size).toBe(2);
  await first.close();
  const mine = await start([siteOf(site, "a")]);
  const known = mine.registry.records("a");
  const round = await mine.sync.read("a");
  const found = findMounts(round, {
    names: [],
    wanted: [],
    known,
    driverOf: driverByName,
    taken: ["films"],
  });
  expect(found.mounts.map(({ name }) => name)).toEqual(["remote", "films-2"]);
  expect(found.mounts[0]?.items).toMatchObject(items);
  const count = writes(site).length;
  const save = async (what: Found): Promise<WantedMount[]> => {
    const wanted = what.mounts.map((one) => mount({ ...one, revision: 5, credentialRevision: 5 }));
    mine.set({ a: wanted });
    return wanted;
  };
  const states = await adoptMountsOf(found, { known, hash, save });
  site.writeBack("/remote", { token: "refreshed meanwhile" });
  await mine.sync.request("a", { forced: [], states });
  await mine.sync.reconcile("a");
  expect(writes(site)).toHaveLength(count);
  expect(mine.registry.site("a")).toMatchObject({ contacted: true, extra: [] });
  expect(mine.registry.records("a").get("remote")).toMatchObject({
    differs: [],
    error: "",
    applied: 5,
  });
});
