import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { post, startSavers, startWatcher } from "../test/process/instance-load.ts";
import type { Mooring } from "./mooring.ts";

const reachable = ({ port }: Mooring) => ({ port: () => port });

/** Saves a second that so many clients come to, by turns at each of the instances. */
export async function savesPerSecond(
  instances: readonly Mooring[],
  count: number,
  seconds: number,
): Promise<number> {
  const token = instances[0]?.token ?? "";
  const savers = startSavers(instances.map(reachable), { count, token });
  await savers.more(2 * count);
  const total = (): number =>
    [...savers.acknowledged.values()].reduce((sum, each) => sum + each, 0);
  const before = total();
  const began = performance.now();
  await sleep(seconds * 1_000);
  const rate = ((total() - before) / (performance.now() - began)) * 1_000;
  await savers.stop();
  return rate;
}

/** The server's own yardstick: how often a second one connection commits the change of one row. */
export async function commitsPerSecond(url: string, seconds: number): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("create table if not exists yardstick (id int primary key, n bigint)");
    await client.query("insert into yardstick values (1, 0) on conflict do nothing");
    const began = performance.now();
    let count = 0;
    for (; performance.now() < began + seconds * 1_000; count += 1)
      await client.query({ name: "commit", text: "update yardstick set n = n + 1 where id = 1" });
    return (count / (performance.now() - began)) * 1_000;
  } finally {
    await client.end();
  }
}

/** Milliseconds from the answer of a save at one instance to its event at another, of each of some. */
export async function changeReaches(
  from: Mooring,
  to: Mooring,
  changes: number,
): Promise<number[]> {
  const { token } = from;
  const agent = new Agent({ keepAlive: true });
  const save = async (): Promise<void> => {
    const body = [{ key: "announcement", value: `${performance.now()}` }];
    if (!(await post(agent, { port: from.port, token, body }))) throw new Error("a save failed");
  };
  await save();
  const watcher = startWatcher([reachable(to)], { first: 0, after: await revisionAt(from), token });
  await sleep(1_000);
  const times: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const seen = watcher.times.length;
    await save();
    const answered = performance.now();
    while (watcher.times.length === seen) await sleep(1);
    // It may be there before the answer.
    times.push(Math.max(0, (watcher.times[seen] ?? 0) - answered));
    await sleep(30 + Math.random() * 100);
  }
  await watcher.stop();
  agent.destroy();
  return times;
}

/** The revision of the last change of `changeReaches`. */
async function revisionAt({ port, token: authorization }: Mooring): Promise<number> {
  const path = "/api/admin/setting/get?key=announcement";
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } });
  return Number(((await reply.json()) as { data: { revision: string } }).data.revision);
}
