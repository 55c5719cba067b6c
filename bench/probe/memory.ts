import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  GetPublicSettingsRequestSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import { callGrpc, callHttp, pathOf } from "../call.ts";
import type { Experiment } from "../experiment.ts";
import { startMooring } from "../mooring.ts";
import { residentBytes } from "../proc.ts";
import { size } from "../report.ts";
import { startYardstick } from "../yardstick.ts";

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
      verdicts: [{ text: "Mooring", value: own / 1e6, unit: " MB", target: { atMost: 110 } }],
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
