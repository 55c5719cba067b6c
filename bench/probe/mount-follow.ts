import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { startMountFollow } from "../../src/mounts/site/follow.ts";
import { createMountRegistry } from "../../src/mounts/site/registry.ts";
import { NEW_MOUNT } from "../../src/mounts/site/state.ts";
import type { WantedMount } from "../../src/mounts/site/wanted.ts";
import type { Site } from "../../src/sites/site.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import { driverByName, hash, memoryStore, mount } from "../../test/mounts/site/desk.ts";

/** What a program of this bench is to follow. */
export interface FollowTask {
  readonly file: string;
  readonly sites: readonly { readonly url: string; readonly token: string }[];
}

/**
 * The part of Mooring that follows mounts, in a process of its own with an SQLite file. The first line
 * is the task. Each other line is `COUNT ORDER CHANGED`: every site is to have so many mounts, of which
 * the first CHANGED have this order; the answer is the time when that was known here. `rest N` answers
 * with the rounds of so many looks at each site, `delay` with the 99th percentile of the event loop's
 * delay in milliseconds since the last one, `memory` with the bytes that 10,000 mounts take.
 */
async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const task: FollowTask = JSON.parse((await lines.next()).value ?? "");
  const store = await openSqliteSettingStore(task.file);
  const registry = createMountRegistry(store.mountStates);
  const sites = task.sites.map(siteOf);
  let wanted: readonly WantedMount[] = [];
  let changed = (): void => undefined;
  const follow = await startMountFollow({
    ...{ registry, hash, driverOf: driverByName, now: Date.now, random: Math.random },
    sites: { sites: () => sites, byId: (id) => sites.find((site) => site.id === id) },
    lease: { isHeld: () => true, renew: async () => undefined, release: async () => undefined },
    wantedOf: () => wanted,
    subscribe: (listener) => {
      changed = listener;
      return () => undefined;
    },
    onRound: () => undefined,
    onError: (error) => {
      throw error;
    },
    times: { look: 3_600_000, lookAgain: 3_600_000 },
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let revision = 0;
  let orders: number[] = [];
  for (;;) {
    const { value: line, done } = await lines.next();
    if (done === true) break;
    let answer = Date.now();
    if (line === "delay") {
      answer = delay.percentile(99) / 1e6;
      delay.reset();
    } else if (line === "memory") answer = memoryOfMounts();
    else if (line.startsWith("rest"))
      for (let turn = 0; turn < Number(line.slice(5)); turn += 1)
        await Promise.all(sites.map(({ id }) => follow.follow(id)));
    else {
      revision += 1;
      const [count = 0, order = 0, some = 0] = line.split(" ").map(Number);
      orders = Array.from({ length: count }, (_each, at) =>
        at < some ? order : (orders[at] ?? 0),
      );
      const before = new Map(wanted.map((one) => [one.name, one]));
      wanted = orders.map((each, at) => {
        const known = before.get(`m${at}`);
        return known?.members["order"] === each ? known : mountOf(at, each, revision);
      });
      changed();
    }
    process.stdout.write(`${answer}\n`);
  }
  await follow.close();
  await store.close();
}

function siteOf({ url, token }: FollowTask["sites"][number], at: number): Site {
  return {
    ...{ id: `s${at}`, name: `s${at}`, url, token, ca: "", pin: "", mode: "follow" },
    ...{ include: [], exclude: [], overrides: {}, paused: false, upstream: false, created: 0 },
  };
}

function mountOf(at: number, order: number, revision: number): WantedMount {
  const items = { root_folder_path: `/srv/${at}`, thumbnail: true, mkdir_perm: "777" };
  const members = {
    order,
    remark: `mount ${at}`,
    cache_expiration: 30,
    webdav_policy: "native_proxy",
  };
  return mount({ ...{ name: `m${at}`, path: `/m/${at}`, items, members, revision } });
}

/** Ten thousand mounts with what is known of each on a site. */
function memoryOfMounts(): number {
  const collect = (globalThis as { gc?: () => void }).gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage().heapUsed;
  const all = Array.from({ length: 10_000 }, (_each, at) => ({
    mount: mountOf(at, at, at),
    state: { ...NEW_MOUNT, ...{ id: at, path: `/m/${at}`, driver: "Local", status: "work" } },
  }));
  collect();
  const after = process.memoryUsage().heapUsed;
  return all.length === 10_000 ? after - before : 0;
}

// Loaded before memory is read.
memoryStore();
await main();
