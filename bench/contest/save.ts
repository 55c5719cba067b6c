import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { framed, pathOf } from "../call.ts";
import type { Contest } from "../contest.ts";
import { type Load, type LoadResult, roundOf, type Side, serverSide } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { COUNTER, writeLoad } from "../load/write.ts";
import { addCustomSettings, customKey, type Mooring, startMooring } from "../mooring.ts";
import { SERVER_CORE } from "../stage.ts";
import { startYardstick } from "../yardstick.ts";

const VALUE = `bench-value-${COUNTER}`;

/** Many clients that save one setting each, with shared commits. */
export const saveMany: Contest = {
  name: "save-64",
  title: "SaveSettings of one item, 64 clients (counted in items)",
  load: "own HTTP/2 client, 64 connections with one call in flight each; every call another value",
  needs: [],
  comparisons: [
    {
      of: "Mooring",
      against: "grpc-js + sqlite",
      measure: "perSecond",
      target: { atLeast: 0.45 },
    },
    { of: "Mooring", measure: "cpuPerRequest" },
    { of: "Mooring", against: "sqlite 64 rows", measure: "perSecond" },
    { of: "grpc-js + sqlite", against: "sqlite 64 rows", measure: "perSecond" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    await addCustomSettings(mooring, 64);
    const sides = [saveSide(lab, "Mooring", mooring, 64), sqliteSide(lab, "sqlite 64 rows", 64)];
    return [...sides, await bareSaveSide(lab, 64)];
  },
};

/** Saves by one client: the waiting time of a user. */
export const saveOne: Contest = {
  name: "save-1",
  title: "SaveSettings of one item, one client",
  load: "own HTTP/2 client, one connection, one call at a time; every call another value",
  needs: [],
  comparisons: [
    { of: "Mooring", against: "sqlite 1 row", measure: "medianMillis", target: { atMost: 5 } },
    { of: "Mooring", against: "grpc-js + sqlite", measure: "medianMillis" },
    { of: "grpc-js + sqlite", against: "sqlite 1 row", measure: "medianMillis" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    await addCustomSettings(mooring, 1);
    const sides = [saveSide(lab, "Mooring", mooring, 1), sqliteSide(lab, "sqlite 1 row", 1)];
    if (lab.quick) return sides;
    return [...sides, await bareSaveSide(lab, 1)];
  },
};

function saveSide(lab: Lab, name: string, mooring: Mooring, clients: number): Side {
  return serverSide(name, mooring.server, saveLoad(lab, mooring, clients));
}

/**
 * Load of `clients` clients, each with its own custom setting. @param first number of the first
 * setting.
 */
export function saveLoad(lab: Lab, mooring: Mooring, clients: number, first = 0): Load {
  const { port, token } = mooring;
  const path = pathOf(SettingService.method.saveSettings);
  const frames = Array.from({ length: clients }, (_, at) => saveFrame(customKey(first + at)));
  return writeLoad(lab.stage, { port, path, token, frames });
}

/** Lower bound of a save over gRPC with only Node and SQLite. */
async function bareSaveSide(lab: Lab, clients: number): Promise<Side> {
  const path = pathOf(SettingService.method.saveSettings);
  const file = join(lab.stage.folder(), "bare.db");
  const { server, port } = await startYardstick(lab.stage, "grpc-sqlite.ts", [path, file]);
  const frames = Array.from({ length: clients }, (_, client) => saveFrame(customKey(client)));
  return serverSide("grpc-js + sqlite", server, writeLoad(lab.stage, { port, path, frames }));
}

function saveFrame(key: string): string {
  const request = create(SaveSettingsRequestSchema, { settings: [{ key, value: VALUE }] });
  return framed(toBinary(SaveSettingsRequestSchema, request)).toString("base64");
}

/** Loop in a process that commits for the duration of a round. */
function sqliteSide(lab: Lab, name: string, rows: number): Side {
  const program = fileURLToPath(new URL("../yardstick/sqlite.ts", import.meta.url));
  const file = join(lab.stage.folder(), "bare.db");
  return {
    name,
    run: async (seconds) => {
      const output = await lab.stage.run({
        program: process.execPath,
        args: [program, file, String(rows), String(seconds)],
        cores: SERVER_CORE,
      });
      const { cpuMicros, ...result } = JSON.parse(output) as LoadResult & { cpuMicros: number };
      return roundOf(result, cpuMicros);
    },
  };
}
