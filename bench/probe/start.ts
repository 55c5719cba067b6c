import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import { callGrpc, callHttp, pathOf } from "../call.ts";
import { type Experiment, type Lab, limited, verdictOf } from "../experiment.ts";
import { launchMooring, startMooring } from "../mooring.ts";
import { accepts, until } from "../port.ts";
import { residentBytes } from "../proc.ts";
import { decimal, size } from "../report.ts";
import { median, ratiosOf } from "../statistics.ts";
import { launchYardstick, type Started, startYardstick } from "../yardstick.ts";

const SETTINGS = "/api/public/settings";

interface Starter {
  readonly name: string;
  readonly path: string;
  launch(): Promise<Started>;
}

/** Time from the start of the process to its first reply, with a warm page cache. */
export const startTime: Experiment = {
  name: "start",
  title: "Start to first reply, warm disk, existing database",
  needs: [],
  measure: async (lab) => {
    const starters = await prepare(lab);
    const times = new Map<Starter, number[]>(starters.map((starter) => [starter, []]));
    for (let round = 0; round <= lab.plan.starts; round++)
      for (const starter of starters) {
        const time = await timeToReply(starter);
        // The first round only warms the disk's cache.
        if (round > 0) times.get(starter)?.push(time);
      }
    const series = starters.map(({ name }, at) => ({ name, times: [...times.values()][at] ?? [] }));
    return {
      load: `${lab.plan.starts} starts of each by turns; asked every millisecond until it answers`,
      columns: ["", "median ms", "least ms", "most ms"],
      rows: series.map(({ name, times: each }) => [
        name,
        ...[median(each), Math.min(...each), Math.max(...each)].map(decimal),
      ]),
      verdicts: series.slice(1).map(({ name, times: each }) => {
        const ratios = ratiosOf(each, series[0]?.times ?? []);
        return verdictOf(`${name} against an empty Fastify server`, ratios, "×", { atMost: 2 });
      }),
      figures: series,
    };
  },
};

async function prepare(lab: Lab): Promise<Starter[]> {
  const folder = lab.stage.folder();
  const first = await startMooring(lab, { folder });
  await first.server.stop();
  const empty = () => launchYardstick(lab.stage, "empty-fastify.mjs");
  const mooring = () => launchMooring(lab, { folder });
  return [
    { name: "empty Fastify", path: "/ping", launch: empty },
    { name: "Mooring, /ping", path: "/ping", launch: mooring },
    { name: "Mooring, settings", path: SETTINGS, launch: mooring },
  ];
}

/** Milliseconds from the start to a reply with status 200. */
async function timeToReply({ launch, name, path }: Starter): Promise<number> {
  const began = performance.now();
  const { server, port } = await launch();
  const replies = async () => {
    server.assertAlive();
    return (await accepts(port)) && (await succeeds(port, path));
  };
  await until(replies, () => `${name} does not answer:\n${server.tail()}`, { interval: 1 });
  const time = performance.now() - began;
  await server.stop();
  return time;
}

async function succeeds(port: number, path: string): Promise<boolean> {
  try {
    return (await callHttp({ port, path })).status === 200;
  } catch {
    return false;
  }
}

/** Idle time before memory is read, in milliseconds. */
const REST = 5_000;
const QUICK_REST = 2_000;

/** Memory of the idle process. */
export const idleMemory: Experiment = {
  name: "memory",
  title: "Resident memory when idle",
  needs: [],
  measure: async (lab) => {
    const mooring = await startMooring(lab);
    const empty = await startYardstick(lab.stage, "empty-fastify.mjs", []);
    await useTransports(mooring.port);
    await sleep(lab.quick ? QUICK_REST : REST);
    const own = residentBytes(mooring.server.pid);
    const bare = residentBytes(empty.server.pid);
    return {
      load: "VmRSS some seconds after a start on an empty database and one call on each transport",
      columns: ["", "resident"],
      rows: [
        ["Mooring", size(own)],
        ["empty Fastify", size(bare)],
      ],
      verdicts: [limited("Mooring", own / 1e6, " MB", 110)],
      figures: { mooring: own, emptyFastify: bare },
    };
  },
};

/** Uses all transports, so that code loaded on first use is included. */
async function useTransports(port: number): Promise<void> {
  const path = pathOf(PublicService.method.getPublicSettings);
  const request = create(GetPublicSettingsRequestSchema);
  await callHttp({ port, path: "/api/public/settings" });
  const json = { "Content-Type": "application/json" };
  await callHttp({ port, path, method: "POST", headers: json, body: "{}" });
  await callGrpc({ port, path, body: toBinary(GetPublicSettingsRequestSchema, request) });
}
