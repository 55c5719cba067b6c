import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { pathOf } from "../call.ts";
import {
  type Experiment,
  type Figures,
  type Lab,
  limited,
  NotMeasurable,
  verdictOf,
} from "../experiment.ts";
import type { Arrival, WatchJob } from "../load/watch-client.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { cpuMicros, residentBytes } from "../proc.ts";
import { count, decimal, size } from "../report.ts";
import { type Conversation, LOAD_CORE } from "../stage.ts";
import { median, ratiosOf } from "../statistics.ts";

const METHOD = "WatchPublicSettings";
const PER_CONNECTION = 100;
/** Number of streams besides one that does not read, and the size of each change in bytes. */
const FEW = 100;
const LARGE = 60_000;
const CHANGES = 15;
const QUICK_CHANGES = 5;

/** Cost of sending a change to very many clients. */
export const watch: Experiment = {
  name: "watch",
  title: `gRPC ${METHOD} by many clients`,
  needs: [],
  measure: async (lab) => {
    const many = await measureMany(lab);
    const stopped = await measureStopped(lab);
    return report(lab, many, stopped);
  },
};

interface Many {
  readonly before: number;
  readonly after: number;
  /** CPU time of the server per delivery, in microseconds. */
  readonly cpuPerDelivery: number;
  readonly arrivals: readonly Arrival[];
}

async function measureMany(lab: Lab): Promise<Many> {
  const mooring = await startMooring(lab);
  await sleep(1_000);
  const before = residentBytes(mooring.server.pid);
  const { streams } = lab.plan;
  const client = await startClient(lab, mooring, streams, streams / PER_CONNECTION);
  await sleep(1_000);
  const after = residentBytes(mooring.server.pid);
  await change(client, 3, "warm");
  const cpu = cpuMicros(mooring.server.pid);
  const changes = lab.quick ? QUICK_CHANGES : CHANGES;
  const arrivals = await change(client, changes, "many");
  const used = cpuMicros(mooring.server.pid) - cpu;
  await client.stop();
  return { before, after, arrivals, cpuPerDelivery: used / changes / streams };
}

interface Stopped {
  readonly alone: readonly Arrival[];
  readonly beside: readonly Arrival[];
}

/** Measures the same changes without and with a client that does not read. */
async function measureStopped(lab: Lab): Promise<Stopped> {
  const client = await startClient(lab, await startMooring(lab), FEW, 10);
  const changes = lab.quick ? QUICK_CHANGES : CHANGES;
  await change(client, 3, "warm", LARGE);
  const alone = await change(client, changes, "alone", LARGE);
  await client.ask("stop");
  const beside = await change(client, changes, "beside", LARGE);
  await client.stop();
  return { alone, beside };
}

async function startClient(
  lab: Lab,
  { port, token }: Mooring,
  streams: number,
  connections: number,
): Promise<Conversation> {
  const method = PublicService.methods.find(({ name }) => name === METHOD);
  if (method === undefined) throw new NotMeasurable(`the contract has no ${METHOD} yet`);
  const body = Buffer.from(toBinary(method.input, create(method.input))).toString("base64");
  const job = { port, token, body, streams, connections, stopped: 1, path: pathOf(method) };
  const client = lab.stage.converse({
    program: process.execPath,
    args: [
      fileURLToPath(new URL("../load/watch-client.ts", import.meta.url)),
      JSON.stringify(job satisfies WatchJob),
    ],
    cores: LOAD_CORE,
  });
  await client.ask();
  return client;
}

/** Saves several values, each after the previous one has arrived everywhere. */
async function change(
  client: Conversation,
  times: number,
  name: string,
  length = 32,
): Promise<Arrival[]> {
  const arrivals: Arrival[] = [];
  for (let time = 0; time < times; time++) {
    const value = `${name} ${time} of this run`.padEnd(length, ".");
    arrivals.push(JSON.parse(await client.ask(value)) as Arrival);
    await sleep(100);
  }
  return arrivals;
}

function report(lab: Lab, many: Many, stopped: Stopped): Figures {
  const memory = many.after - many.before;
  const last = many.arrivals.map((arrival) => arrival.last);
  const slowdown = ratiosOf(
    stopped.beside.map((arrival) => arrival.last),
    stopped.alone.map((arrival) => arrival.last),
  );
  return {
    load: `own HTTP/2 client, ${count(lab.plan.streams)} streams on ${lab.plan.streams / PER_CONNECTION} connections; then ${FEW} streams, changes of ${size(LARGE)} and one connection that stops reading`,
    columns: ["", "acknowledged ms", "half have it, ms", "last has it, ms"],
    rows: [
      row(`${count(lab.plan.streams)} streams`, many.arrivals),
      row(`${FEW} streams`, stopped.alone),
      row(`${FEW} streams beside a stopped one`, stopped.beside),
    ],
    verdicts: [
      limited(`memory for ${count(lab.plan.streams)} streams`, memory / 1e6, " MB", 200),
      verdictOf("one change reaches the last stream", last, " ms", { atMost: 250 }),
      verdictOf("beside a stopped reader against without, time to the last", slowdown, "×", {
        atMost: 1.2,
      }),
    ],
    notes: [`the server spends ${decimal(many.cpuPerDelivery)} µs of CPU for each delivery`],
    figures: { many, stopped },
  };
}

function row(name: string, arrivals: readonly Arrival[]): string[] {
  const middle = (member: keyof Arrival) => decimal(median(arrivals.map((each) => each[member])));
  return [name, middle("acknowledged"), middle("median"), middle("last")];
}
