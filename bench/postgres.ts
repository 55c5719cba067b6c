// What many instances on one PostgreSQL server cost: `npm run bench:postgres`. About a minute, with a
// server of its own in a temporary folder and the service from its source. On a machine that others
// use meanwhile ratios hold, and nothing else.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RUN_FOLDER } from "../test/once.ts";
import { post, startSavers, startWatcher } from "../test/process/instance-load.ts";
import { startPgbouncer } from "../test/store/postgres/pgbouncer.ts";
import { startPostgres } from "../test/store/postgres/server.ts";
import { ownCpuMicros } from "./proc.ts";

const TOKEN = "bench-token-0123456789abcdefghijklmnopqr";
const SECONDS = 4;
/** Of reads: by turns, so that what others do on the machine falls on all alike. */
const ROUNDS = 3;
const ROUND_SECONDS = 2;
const folder = mkdtempSync(join(tmpdir(), "mooring-bench-"));
const children: ChildProcess[] = [];

interface Instance {
  readonly pid: number;
  port(): number;
}

async function startInstance(database: string): Promise<Instance> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../src/main.ts")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      MOORING_LISTEN: "127.0.0.1:0",
      MOORING_LOG_FORMAT: "json",
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_DATA_DIR: join(folder, String(children.length)),
      MOORING_DATABASE_URL: database,
    },
  });
  children.push(child);
  const port = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-2_000);
      const [, found] = /"listen":"127\.0\.0\.1:(\d+)"/.exec(text) ?? [];
      if (found !== undefined) resolve(Number(found));
    });
    child.once("close", () => reject(new Error(`the service ended: ${text}`)));
  });
  return { pid: child.pid ?? 0, port: () => port };
}

/** Saves a second that so many clients come to. */
async function savesPerSecond(instances: readonly Instance[], count: number): Promise<number> {
  const savers = startSavers(instances, { count, token: TOKEN });
  await savers.more(count);
  const total = (): number =>
    [...savers.acknowledged.values()].reduce((sum, each) => sum + each, 0);
  const before = total();
  const began = performance.now();
  await sleep(SECONDS * 1_000);
  const rate = ((total() - before) / (performance.now() - began)) * 1_000;
  await savers.stop();
  return rate;
}

interface Reads {
  readonly perSecond: number;
  /** Of the instances' processes. */
  readonly cpuMicros: number;
}

/** Reads of one setting, with a token, by 8 clients at each instance. */
async function reads(instances: readonly Instance[]): Promise<Reads> {
  let count = 0;
  let stopped = false;
  const read = (port: number, agent: Agent): Promise<void> =>
    new Promise((resolve, reject) => {
      const path = "/api/admin/setting/get?key=site_title";
      const headers = { authorization: TOKEN };
      request({ host: "127.0.0.1", port, agent, path, headers }, (reply) => {
        reply.resume();
        reply.on("end", resolve);
      })
        .on("error", reject)
        .end();
    });
  const clients = instances.flatMap((instance) =>
    Array.from({ length: 8 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (!stopped) {
        await read(instance.port(), agent);
        count += 1;
      }
      agent.destroy();
    }),
  );
  await sleep(500);
  const cpu = (): number => instances.reduce((sum, { pid }) => sum + ownCpuMicros(pid), 0);
  const [countBefore, cpuBefore, began] = [count, cpu(), performance.now()];
  await sleep(ROUND_SECONDS * 1_000);
  const made = count - countBefore;
  const result = {
    perSecond: (made / (performance.now() - began)) * 1_000,
    cpuMicros: (cpu() - cpuBefore) / made,
  };
  stopped = true;
  await Promise.all(clients);
  return result;
}

/** The medians of several rounds, by turns. */
async function readsByTurns(sides: readonly (readonly Instance[])[]): Promise<Reads[]> {
  const made: Reads[][] = sides.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [at, side] of sides.entries()) made[at]?.push(await reads(side));
  const median = (figures: readonly Reads[], of: (one: Reads) => number): number =>
    figures.map(of).sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
  return made.map((figures) => ({
    perSecond: median(figures, ({ perSecond }) => perSecond),
    cpuMicros: median(figures, ({ cpuMicros }) => cpuMicros),
  }));
}

/** Milliseconds from the answer of a save at one instance to its event at another: the median. */
async function changeReaches(from: Instance, to: Instance, rounds: number): Promise<number> {
  const watcher = startWatcher([to], { first: 0, after: 1, token: TOKEN });
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  // All that the bench has saved before comes first.
  for (let before = -1; before !== watcher.times.length; await sleep(1_000))
    before = watcher.times.length;
  for (let round = 0; round < rounds; round += 1) {
    const seen = watcher.times.length;
    const body = [{ key: "announcement", value: `${performance.now()}` }];
    await post(agent, { port: from.port(), token: TOKEN, body });
    const answered = performance.now();
    while (watcher.times.length === seen) await sleep(1);
    // It may be there before the answer.
    times.push(Math.max(0, (watcher.times[seen] ?? 0) - answered));
    await sleep(30 + Math.random() * 100);
  }
  await watcher.stop();
  agent.destroy();
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

const say = (name: string, ...figures: string[]): void =>
  void process.stdout.write(`| ${[name, ...figures].join(" | ")} |\n`);
const figure = (value: number): string => value.toPrecision(3);

// Where the server is initialised, by a user without rights.
chmodSync(folder, 0o755);
process.env[RUN_FOLDER] = folder;
const server = await startPostgres({ isDurable: true });
const pooler = await startPgbouncer(server, "postgres");
try {
  say("what", "figure");
  say("---", "--:");
  const sqlite = await startInstance(`sqlite:${join(folder, "bench.db")}`);
  const url = await server.newDatabase();
  const [one, other] = [await startInstance(url), await startInstance(url)];
  const alone = await savesPerSecond([one], 1);
  const group = await savesPerSecond([one], 64);
  say("saves a second, one client", figure(alone));
  say("saves a second, 64 clients at one instance", figure(group));
  say("… at two instances", figure(await savesPerSecond([one, other], 64)));
  say("64 clients to one", `${figure(group / alone)} ×`);
  const nothing = { perSecond: Number.NaN, cpuMicros: Number.NaN };
  const [onSqlite = nothing, onOne = nothing, onTwo = nothing] = await readsByTurns([
    [sqlite],
    [one],
    [one, other],
  ]);
  say("CPU of a read with a token on SQLite, µs", figure(onSqlite.cpuMicros));
  say("… on PostgreSQL, one instance, µs", figure(onOne.cpuMicros));
  say("… two instances, µs", figure(onTwo.cpuMicros));
  say("CPU of a read, two instances to one", `${figure(onTwo.cpuMicros / onOne.cpuMicros)} ×`);
  say("reads a second of CPU, one instance", figure(1e6 / onOne.cpuMicros));
  say("… two instances, a core each", figure(2e6 / onTwo.cpuMicros));
  say("reads a second that the clients came to, one instance", figure(onOne.perSecond));
  say("… two", figure(onTwo.perSecond));
  say(
    "from a save's answer to the event at another, median ms",
    figure(await changeReaches(one, other, 60)),
  );
  const [p1, p2] = [await startInstance(pooler.url), await startInstance(pooler.url)];
  say("… behind a pooler, without notifications", figure(await changeReaches(p1, p2, 30)));
} finally {
  for (const child of children) child.kill("SIGKILL");
  await pooler.stop();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
