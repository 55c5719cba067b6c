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
import { ETCD_PUT, fillEtcd, put, startEtcd, startYardstick } from "../yardstick.ts";
import { wrkSide } from "./read.ts";

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
      target: { atLeast: 0.9 },
    },
    { of: "Mooring", against: "etcd put", measure: "perSecond", target: { atLeast: 0.75 } },
    { of: "Mooring", measure: "cpuPerRequest", target: { atMost: 70 } },
    { of: "Mooring", against: "sqlite 64 rows", measure: "perSecond" },
    { of: "grpc-js + sqlite", against: "sqlite 64 rows", measure: "perSecond" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    await addCustomSettings(mooring, 64);
    const sides = [saveSide(lab, "Mooring", mooring, 64), sqliteSide(lab, "sqlite 64 rows", 64)];
    if (lab.etcd) sides.push(await etcdSide(lab, 64));
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
    { of: "Mooring", against: "sqlite 1 row", measure: "medianMillis", target: { atMost: 2.5 } },
    { of: "Mooring", against: "etcd put", measure: "medianMillis" },
    { of: "Mooring", against: "grpc-js + sqlite", measure: "medianMillis" },
    { of: "grpc-js + sqlite", against: "sqlite 1 row", measure: "medianMillis" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    await addCustomSettings(mooring, 1);
    const sides = [saveSide(lab, "Mooring", mooring, 1), sqliteSide(lab, "sqlite 1 row", 1)];
    if (lab.quick) return sides;
    if (lab.etcd) sides.push(await etcdSide(lab, 1));
    return [...sides, await bareSaveSide(lab, 1)];
  },
};

const COUNTS = [100, 1_000, 10_000];

/** Read of one setting from a growing number of settings: its cost has to stay constant. */
export const growthSetting: Contest = growth({
  name: "growth-setting",
  title: "GET /api/admin/setting/get with 100, 1,000 and 10,000 custom settings",
  load: "wrk, 32 keep-alive connections, HTTP/1.1",
  needs: ["wrk"],
  side: async (lab, name, { server, port, token }) => {
    const path = `/api/admin/setting/get?key=${customKey(50)}`;
    return (await wrkSide(lab, name, server, { port, path, headers: { Authorization: token } }))[0];
  },
});

/** Save of one setting with a growing number of settings. */
export const growthSave: Contest = growth({
  name: "growth-save",
  title: "SaveSettings of one item with 100, 1,000 and 10,000 custom settings, one client",
  load: "own HTTP/2 client, one connection, one call at a time; every call another value",
  needs: [],
  side: async (lab, name, mooring) => saveSide(lab, name, mooring, 1),
});

/** Servers with a growing number of settings, the largest number first. */
function growth({
  side,
  ...contest
}: Pick<Contest, "name" | "title" | "load" | "needs"> & {
  side(lab: Lab, name: string, mooring: Mooring): Promise<Side>;
}): Contest {
  const label = (count: number) => `${count.toLocaleString("en-US")} settings`;
  const [few = 0, ...more] = COUNTS;
  return {
    ...contest,
    comparisons: more.map((count) => ({
      of: label(count),
      against: label(few),
      measure: "cpuPerRequest",
      target: { atMost: 1.2 },
    })),
    open: async (lab) => {
      const counts = lab.quick ? [few, Math.max(...COUNTS)] : COUNTS;
      const sides: Side[] = [];
      for (const count of counts.toReversed()) {
        const mooring = await startMooring(lab);
        await addCustomSettings(mooring, count);
        sides.push(await side(lab, label(count), mooring));
      }
      return sides;
    },
  };
}

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

/** etcd with the same keys and values. */
async function etcdSide(lab: Lab, clients: number): Promise<Side> {
  const { server, port } = await startEtcd(lab.stage);
  await fillEtcd(port, customKey(0), VALUE);
  const frames = Array.from({ length: clients }, (_, client) =>
    framed(put(customKey(client), VALUE)).toString("base64"),
  );
  return serverSide("etcd put", server, writeLoad(lab.stage, { port, path: ETCD_PUT, frames }));
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
