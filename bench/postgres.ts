// What many instances on one PostgreSQL server cost: `npm run bench:postgres`. About five minutes, with
// a server of its own in a temporary folder. The instances share one core, and the load generators and
// the database's server the other, unless a row says otherwise. On a machine that others use meanwhile
// ratios hold, and nothing else.
import { chmodSync } from "node:fs";
import { RUN_FOLDER } from "../test/once.ts";
import { startPgbouncer } from "../test/store/postgres/pgbouncer.ts";
import { startPostgres } from "../test/store/postgres/server.ts";
import { count, decimal } from "./format.ts";
import { idleShare, type Reads, readsByTurns, warmUp } from "./instance-reads.ts";
import { changeReaches, commitsPerSecond, savesPerSecond } from "./instance-saves.ts";
import { fullPlan, type Lab } from "./lab.ts";
import { type Mooring, startMooring } from "./mooring.ts";
import { makePackage } from "./package.ts";
import {
  cleanEnvironment,
  createStage,
  LOAD_CORE,
  moveToLoadCore,
  SERVER_CORE,
  stopOnSignals,
} from "./stage.ts";
import { median, ratioOf } from "./statistics.ts";

const TOKEN = "bench-token-0123456789abcdefghijklmnopqr";
const WARM_UP = 8;
const ROUNDS = { rounds: 5, seconds: 3 };
const BOTH_CORES = `${SERVER_CORE},${LOAD_CORE}`;

const stage = createStage(cleanEnvironment());
stopOnSignals(stage);
await moveToLoadCore(stage);
const folder = stage.folder();
// Where the server is initialised, by a user without rights.
chmodSync(folder, 0o755);
process.env[RUN_FOLDER] = folder;
const server = await startPostgres({ isDurable: true });
const pooler = await startPgbouncer(server, "postgres");
try {
  await measure();
} finally {
  await stage.close();
  await pooler.stop();
  await server.remove();
}

async function measure(): Promise<void> {
  const program = await makePackage(stage);
  const lab: Lab = {
    ...{ stage, plan: fullPlan, server: program, nodeFlags: [] },
    ...{ quick: false, everything: true, etcd: false },
  };
  const start = (database?: string): Promise<Mooring> =>
    startMooring(lab, {
      token: TOKEN,
      environment: database === undefined ? {} : { MOORING_DATABASE_URL: database },
    });
  const sqlite = await start();
  const url = await server.newDatabase();
  const [one, other] = [await start(url), await start(url)];
  say("what", "figure", "target");
  say("---", "--:", "--:");
  await saves(one, other);
  await reads(sqlite, one, other);
  sayTimes("from a save's answer to the event at another instance", {
    times: await changeReaches(one, other, 60),
    target: "median ≤ 20",
  });
  const [p1, p2] = [await start(pooler.url), await start(pooler.url)];
  sayTimes("… behind a pooler, without notifications", {
    times: await changeReaches(p1, p2, 30),
    target: "≤ 1,200",
  });
}

async function saves(one: Mooring, other: Mooring): Promise<void> {
  const made = { commits: [], alone: [], group: [], two: [] } as Record<string, number[]>;
  const { seconds } = ROUNDS;
  for (let round = 0; round < ROUNDS.rounds; round += 1) {
    made["commits"]?.push(await commitsPerSecond(server.url(), seconds));
    made["alone"]?.push(await savesPerSecond([one], 1, seconds));
    made["group"]?.push(await savesPerSecond([one], 64, seconds));
    made["two"]?.push(await savesPerSecond([one, other], 64, seconds));
  }
  const { commits = [], alone = [], group = [], two = [] } = made;
  say("commits a second of one row by one connection, without Mooring", count(median(commits)));
  say("saves a second, one client", count(median(alone)));
  say("… 64 clients at one instance", count(median(group)));
  say("… 64 clients at two instances", count(median(two)));
  say("64 clients to one", ratio(group, alone), "≥ 10 ×");
  say("one client to commits without Mooring", ratio(alone, commits));
}

async function reads(sqlite: Mooring, one: Mooring, other: Mooring): Promise<void> {
  await warmUp(stage, [sqlite, one, other], { seconds: WARM_UP, cores: LOAD_CORE });
  const onLoadCore = (...instances: Mooring[]) => ({ instances, cores: LOAD_CORE });
  const sides = [onLoadCore(sqlite), onLoadCore(one), onLoadCore(one, other)];
  const [file = [], alone = [], both = []] = await readsByTurns(stage, sides, ROUNDS);
  const of = (rounds: readonly Reads[], at: number): number[] =>
    rounds.map(({ cpuMicros }) => cpuMicros[at] ?? Number.NaN);
  say("CPU of a read with a token on SQLite, µs", decimal(median(of(file, 0))));
  say("… at one instance on PostgreSQL, µs", decimal(median(of(alone, 0))));
  say("… to SQLite", ratio(of(alone, 0), of(file, 0)), "1 ×");
  for (const [at, name] of ["at one of two", "at the other of two"].entries()) {
    say(`… ${name}, both read at once, µs`, decimal(median(of(both, at))));
    say("… to one alone", ratio(of(both, at), of(alone, 0)), "1 ×");
  }
  say("an instance that nobody calls, % of a core", decimal(100 * (await idleShare(other, 10))));
  await twoCores(one, other);
}

/** Each instance on a core of its own, which it shares with the load generators. */
async function twoCores(one: Mooring, other: Mooring): Promise<void> {
  const args = ["-a", "-p", "-c", LOAD_CORE, String(other.server.pid)];
  await stage.run({ program: "taskset", args, cores: LOAD_CORE });
  const sides = [[one], [one, other]].map((instances) => ({ instances, cores: BOTH_CORES }));
  const [alone = [], both = []] = await readsByTurns(stage, sides, ROUNDS);
  const rate = (rounds: readonly Reads[]): number[] => rounds.map(({ perSecond }) => perSecond);
  const sum = (rounds: readonly Reads[]): number[] =>
    rounds.map(
      ({ cpuMicros }) => cpuMicros.reduce((all, each) => all + each, 0) / cpuMicros.length,
    );
  say("reads a second, one instance, load on both cores", count(median(rate(alone))));
  say("… two instances, a core each, load on both", count(median(rate(both))));
  say("… two to one", ratio(rate(both), rate(alone)));
  say("… CPU of a read, two to one", ratio(sum(both), sum(alone)), "1 ×");
}

function ratio(of: readonly number[], against: readonly number[]): string {
  const { median, lowest, highest } = ratioOf(of, against);
  return `${decimal(median)} × (${decimal(lowest)}–${decimal(highest)})`;
}

function sayTimes(
  what: string,
  { times, target }: { readonly times: readonly number[]; readonly target: string },
): void {
  const figures = `${decimal(median(times))} (${decimal(Math.max(...times))})`;
  say(`${what}, median ms (the slowest of ${times.length})`, figures, target);
}

function say(what: string, figure: string, target = ""): void {
  process.stdout.write(`| ${what} | ${figure} | ${target} |\n`);
}
