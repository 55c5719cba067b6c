import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import { callGrpc, callHttp, pathOf } from "../call.ts";
import { type Experiment, type Lab, limited, verdictOf } from "../experiment.ts";
import { launchMooring, type Mooring, startMooring } from "../mooring.ts";
import { accepts, until } from "../port.ts";
import { residentBytes, residentParts } from "../proc.ts";
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
        return verdictOf(`${name} against an empty Fastify server`, ratios, "×", { atMost: 1.6 });
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

/**
 * Idle time before memory is read, in milliseconds: the time in which an idle process releases memory
 * (src/app/idle-memory.ts).
 */
const REST = 15_000;
/** Calls of the load, and how many at a time. */
const CALLS = 4_000;
const TOGETHER = 64;

/** Memory of the idle process, before and after a load. */
export const idleMemory: Experiment = {
  name: "memory",
  title: "Resident memory when idle",
  needs: [],
  measure: async (lab) => {
    const mooring = await startMooring(lab);
    const empty = await startYardstick(lab.stage, "empty-fastify.mjs", []);
    await useTransports(mooring.port);
    await sleep(REST);
    const own = residentBytes(mooring.server.pid);
    const rows = [
      ["Mooring", ...partsOf(mooring)],
      ["empty Fastify", ...partsOf(empty)],
    ];
    await loadWithReadsAndSaves(mooring);
    await sleep(REST);
    const loaded = residentBytes(mooring.server.pid);
    rows.splice(1, 0, ["Mooring after the load", ...partsOf(mooring)]);
    return {
      load: `VmRSS ${REST / 1000} s after a start on an empty database and one call on each transport; then ${REST / 1000} s after ${CALLS} reads and saves, ${TOGETHER} at a time`,
      columns: ["", "resident", "heap, buffers, stacks", "files of programs"],
      rows,
      verdicts: [
        limited("Mooring", own / 1e6, " MB", 95),
        limited("Mooring after the load", loaded / 1e6, " MB", 110),
      ],
      figures: { mooring: own, loaded, emptyFastify: residentBytes(empty.server.pid) },
    };
  },
};

function partsOf({ server }: Started): string[] {
  const { anonymous, files } = residentParts(server.pid);
  return [residentBytes(server.pid), anonymous, files].map(size);
}

/** Reads of all settings, and a save of 2 kB in every fourth call. */
async function loadWithReadsAndSaves({ port, token }: Mooring): Promise<void> {
  const headers = { Authorization: token, "Content-Type": "application/json" };
  const value = "y".repeat(2_000);
  const call = async (number: number): Promise<void> => {
    const body = JSON.stringify([{ key: "announcement", value: `${value}${number}` }]);
    await (number % 4 === 0
      ? callHttp({ port, path: "/api/admin/setting/save", method: "POST", headers, body })
      : callHttp({ port, path: "/api/admin/setting/list", headers }));
  };
  const numbers = Array.from({ length: CALLS }, (_, number) => number).values();
  const work = async (): Promise<void> => {
    for (const number of numbers) await call(number);
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
}

/** Uses all transports, so that code loaded on first use is included. */
async function useTransports(port: number): Promise<void> {
  const path = pathOf(PublicService.method.getPublicSettings);
  const request = create(GetPublicSettingsRequestSchema);
  await callHttp({ port, path: "/api/public/settings" });
  const json = { "Content-Type": "application/json" };
  await callHttp({ port, path, method: "POST", headers: json, body: "{}" });
  await callGrpc({ port, path, body: toBinary(GetPublicSettingsRequestSchema, request) });
}
