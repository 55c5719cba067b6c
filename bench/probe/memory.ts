import { setTimeout as sleep } from "node:timers/promises";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { callGrpc, callHttp, pathOf } from "../call.ts";
import { type Experiment, limited } from "../experiment.ts";
import { callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { residentBytes, residentParts } from "../proc.ts";
import { size } from "../report.ts";
import { type Started, startYardstick } from "../yardstick.ts";

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
    const empty = await startYardstick(lab.stage, "empty-fastify.mjs");
    await useTransports(mooring.port);
    await sleep(REST);
    const own = residentBytes(mooring.server.pid);
    const rows = [
      ["empty Fastify", ...partsOf(empty)],
      ["Mooring", ...partsOf(mooring)],
    ];
    await loadWithReadsAndSaves(mooring);
    await sleep(REST);
    const loaded = residentBytes(mooring.server.pid);
    return {
      load: `VmRSS ${REST / 1000} s after a start on an empty database and one call on each transport; then ${REST / 1000} s after ${CALLS} reads and saves, ${TOGETHER} at a time, over kept connections`,
      columns: ["", "resident", "heap, buffers, stacks", "files of programs"],
      rows: [...rows, ["Mooring after the load", ...partsOf(mooring)]],
      verdicts: [
        limited("Mooring", own / 1e6, " MB", 95),
        limited("Mooring after the load", loaded / 1e6, " MB", 110),
      ],
    };
  },
};

function partsOf({ server }: Started): string[] {
  const { anonymous, files } = residentParts(server.pid);
  return [residentBytes(server.pid), anonymous, files].map(size);
}

/** Reads of all settings, and a save of 2 kB in every fourth call, over kept connections. */
async function loadWithReadsAndSaves(mooring: Mooring): Promise<void> {
  const value = "y".repeat(2_000);
  const numbers = Array.from({ length: CALLS }, (_, number) => number).values();
  const work = async (): Promise<void> => {
    for (const number of numbers)
      if (number % 4 > 0) await callAdmin(mooring, "/api/admin/setting/list");
      else {
        const settings = [{ key: "announcement", value: `${value}${number}` }];
        await callAdmin(mooring, "/api/admin/setting/save", settings);
      }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
}

/** Uses all transports, so that code loaded on first use is included. */
async function useTransports(port: number): Promise<void> {
  const path = pathOf(PublicService.method.getPublicSettings);
  await callHttp({ port, path: "/api/public/settings" });
  const json = { "Content-Type": "application/json" };
  await callHttp({ port, path, method: "POST", headers: json, body: "{}" });
  await callGrpc({ port, path, body: Buffer.alloc(0) });
}
