import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { createMountRegistry } from "../../src/mounts/site/registry.ts";
import type { WantedMount } from "../../src/mounts/site/row.ts";
import { NEW_MOUNT } from "../../src/mounts/site/state.ts";
import { createMountSync } from "../../src/mounts/site/sync.ts";
import type { Site } from "../../src/sites/site.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { createSync } from "../../src/sync/sync.ts";
import { driverByName, hash, memoryStore, mount } from "../../test/mounts/site/desk.ts";

/** Task of the following program. */
export interface FollowTask {
  readonly file: string;
  readonly sites: readonly { readonly url: string; readonly token: string }[];
}

/**
 * Part of Mooring that follows mounts, in a separate process with an SQLite file. The first line of
 * input is the task. Other lines are `COUNT ORDER CHANGED`: every site shall have COUNT mounts, of
 * which the first CHANGED have this order; the answer is the time when this is known. `rest N`
 * answers with the times of N idle rounds per site, `delay` with the 99th percentile of the event
 * loop's delay in milliseconds since the last answer, `memory` with the bytes of 10,000 mounts.
 */
async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const task: FollowTask = JSON.parse((await lines.next()).value ?? "");
  const store = await openSqliteStore(task.file);
  const registry = createMountRegistry(store.mountStates);
  const sites = task.sites.map(siteOf);
  let wanted: readonly WantedMount[] = [];
  const onError = (error: unknown): void => {
    throw error;
  };
  const all = {
    sites: () => sites,
    byId: (id: string) => sites.find((site) => site.id === id),
    load: async () => undefined,
  };
  const sync = createSync<Site>({
    lease: { isHeld: () => true, renew: async () => undefined, release: async () => undefined },
    sites: all,
    probe: async () => false,
    now: Date.now,
    random: Math.random,
    onError,
  });
  const mounts = createMountSync({
    sync,
    registry,
    hash,
    driverOf: driverByName,
    now: Date.now,
    sites: all,
    wantedOf: () => wanted,
    onError,
    times: { read: 3_600_000, reread: 3_600_000 },
  });
  await sync.start();
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
        await Promise.all(sites.map(({ id }) => mounts.reconcile(id)));
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
      mounts.changed();
    }
    process.stdout.write(`${answer}\n`);
  }
  await sync.close();
  await store.close();
}

function siteOf({ url, token }: FollowTask["sites"][number], at: number): Site {
  return {
    id: `s${at}`,
    name: `s${at}`,
    url,
    token,
    ca: "",
    pin: "",
    mode: "follow",
    include: [],
    exclude: [],
    overrides: {},
    paused: false,
    upstream: false,
    created: 0,
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
  return mount({ name: `m${at}`, path: `/m/${at}`, items, members, revision });
}

/** Memory of ten thousand mounts with their states on a site. */
function memoryOfMounts(): number {
  const collect = (globalThis as { gc?: () => void }).gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage().heapUsed;
  const all = Array.from({ length: 10_000 }, (_each, at) => ({
    mount: mountOf(at, at, at),
    state: { ...NEW_MOUNT, id: at, path: `/m/${at}`, driver: "Local", status: "work" },
  }));
  collect();
  const after = process.memoryUsage().heapUsed;
  return all.length === 10_000 ? after - before : 0;
}

// Loads the code before memory is read.
memoryStore();
await main();
