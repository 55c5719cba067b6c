import { setTimeout as sleep } from "node:timers/promises";
import { type Experiment, NotMeasurable } from "../finding.ts";
import { count, decimal, percent } from "../format.ts";
import type { Lab } from "../lab.ts";
import { wrkLoad } from "../load/wrk.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { cpuMicros, establishedSockets, ownCpuMicros, processTree } from "../proc.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median, ratioOf } from "../statistics.ts";

const CONNECTIONS = 64;
const CORES = `${SERVER_CORE},${LOAD_CORE}`;
const COUNTS = [1, 2];

interface WorkerRound {
  readonly perSecond: number;
  readonly cpuPerRequest: number;
  /** Connections and share of the CPU time of each process that had any. */
  readonly spread: readonly { readonly connections: number; readonly cpuShare: number }[];
}

interface WorkerSide {
  readonly workers: number;
  readonly rounds: WorkerRound[];
  run(seconds: number): Promise<WorkerRound>;
}

/** What a second process adds. */
export const workers: Experiment = {
  name: "workers",
  title: "GET /api/public/settings with one and with two workers",
  needs: ["wrk"],
  measure: async (lab) => {
    const sides: WorkerSide[] = [];
    for (const number of COUNTS) sides.push(await openSide(lab, number));
    for (const side of sides) await side.run(lab.plan.warmUp);
    for (let round = 0; round < lab.plan.rounds; round++)
      for (const side of round % 2 === 0 ? sides : sides.toReversed())
        side.rounds.push(await side.run(lab.plan.seconds));
    return report(sides);
  },
};

async function openSide(lab: Lab, number: number): Promise<WorkerSide> {
  const environment = { MOORING_WORKERS: String(number) };
  const mooring = await startMooring(lab, { environment, cores: CORES });
  // One answers already; the others may still be starting.
  await sleep(1_000);
  if (number > 1 && processTree(mooring.server.pid).length === 1)
    throw new NotMeasurable(`MOORING_WORKERS=${number} starts no worker processes yet`);
  return { workers: number, rounds: [], run: (seconds) => runRound(lab, mooring, seconds) };
}

async function runRound(lab: Lab, mooring: Mooring, seconds: number): Promise<WorkerRound> {
  const { server, port } = mooring;
  const members = processTree(server.pid);
  const before = members.map(ownCpuMicros);
  const total = cpuMicros(server.pid);
  const path = "/api/public/settings";
  const load = wrkLoad(lab.stage, { port, path, connections: CONNECTIONS, cores: CORES });
  const answered = load(seconds);
  await sleep(seconds * 500);
  const connections = members.map((pid) => establishedSockets(pid, port));
  const result = await answered;
  const used = cpuMicros(server.pid) - total;
  const spread = members.map((pid, at) => ({
    connections: connections[at] ?? 0,
    cpuShare: (ownCpuMicros(pid) - (before[at] ?? 0)) / used,
  }));
  return {
    perSecond: result.requests / result.seconds,
    cpuPerRequest: used / result.requests,
    spread: spread.filter((process) => process.connections > 0),
  };
}

function report(sides: readonly WorkerSide[]) {
  const [one, two] = sides;
  const series = (side: WorkerSide | undefined, member: "perSecond" | "cpuPerRequest") =>
    side?.rounds.map((round) => round[member]) ?? [];
  const compare = (member: "perSecond" | "cpuPerRequest") => {
    const { median: value, ...range } = ratioOf(series(two, member), series(one, member));
    return { value, unit: "×", ...range };
  };
  return {
    name: workers.name,
    title: workers.title,
    load: `wrk, ${CONNECTIONS} keep-alive connections; servers and load share cores ${CORES}`,
    columns: ["workers", "per second", "CPU µs each", "connections", "share of CPU time"],
    rows: sides.map((side) => [
      String(side.workers),
      count(median(series(side, "perSecond"))),
      decimal(median(series(side, "cpuPerRequest"))),
      (side.rounds.at(-1)?.spread ?? []).map(({ connections }) => connections).join(" + "),
      (side.rounds.at(-1)?.spread ?? []).map(({ cpuShare }) => percent(cpuShare)).join(" + "),
    ]),
    verdicts: [
      { text: "two workers against one, requests per second", ...compare("perSecond") },
      { text: "two workers against one, CPU per request", ...compare("cpuPerRequest") },
    ],
    notes: [
      "with two cores the load generator takes what a second worker would use: CPU per request shows what sharing costs, requests per second only show a gain where the load generator leaves room",
    ],
    figures: sides.map(({ workers: number, rounds }) => ({ workers: number, rounds })),
  };
}
