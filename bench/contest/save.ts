import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import type { Contest } from "../contest.ts";
import { ETCD_PUT, fillEtcd, put } from "../etcd.ts";
import { framed, pathOf } from "../grpc-call.ts";
import type { Lab } from "../lab.ts";
import { COUNTER, writeLoad } from "../load/write.ts";
import { addCustomSettings, customKey, type Mooring, startMooring } from "../mooring.ts";
import { type LoadResult, roundOf, type Side, serverSide } from "../side.ts";
import { SERVER_CORE } from "../stage.ts";
import { startEtcd, startYardstick } from "../yardstick.ts";

const VALUE = `bench-value-${COUNTER}`;

/** Many clients that save one setting each: commits are shared. */
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

/** The same from few processes: a gRPC library has one connection for all callers of a process. */
export const saveShared: Contest = {
  name: "save-64-shared",
  title: "SaveSettings of one item, 64 clients on 4 connections (counted in items)",
  load: "own HTTP/2 client, 4 connections with 16 calls in flight each; every call another value",
  needs: [],
  long: true,
  comparisons: [
    { of: "Mooring", against: "etcd put", measure: "perSecond" },
    { of: "Mooring", against: "grpc-js + sqlite", measure: "perSecond" },
  ],
  open: async (lab) => {
    const mooring = await startMooring(lab);
    await addCustomSettings(mooring, 64);
    const sides = [saveSide(lab, "Mooring", mooring, 64, 4)];
    if (lab.etcd) sides.push(await etcdSide(lab, 64, 4));
    return [...sides, await bareSaveSide(lab, 64, 4)];
  },
};

/** One client: what a person waits for. */
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

/** That many clients, each with a custom setting of its own. */
export function saveSide(
  lab: Lab,
  name: string,
  mooring: Mooring,
  clients: number,
  connections = clients,
): Side {
  const { server, port, token } = mooring;
  const path = pathOf(SettingService.method.saveSettings);
  const frames = Array.from({ length: clients }, (_, client) => saveFrame(customKey(client)));
  return serverSide(name, server, writeLoad(lab.stage, { port, path, token, frames, connections }));
}

/** etcd with the same keys and values. */
async function etcdSide(lab: Lab, clients: number, connections = clients): Promise<Side> {
  const { server, port } = await startEtcd(lab.stage);
  await fillEtcd(port, customKey(0), VALUE);
  const frames = Array.from({ length: clients }, (_, client) =>
    framed(put(customKey(client), VALUE)).toString("base64"),
  );
  return serverSide(
    "etcd put",
    server,
    writeLoad(lab.stage, { port, path: ETCD_PUT, frames, connections }),
  );
}

/** The least that a save over gRPC can be: what Node and SQLite alone allow. */
async function bareSaveSide(lab: Lab, clients: number, connections = clients): Promise<Side> {
  const path = pathOf(SettingService.method.saveSettings);
  const file = join(lab.stage.folder(), "bare.db");
  const { server, port } = await startYardstick(lab.stage, "grpc-sqlite.ts", path, file);
  const frames = Array.from({ length: clients }, (_, client) => saveFrame(customKey(client)));
  return serverSide(
    "grpc-js + sqlite",
    server,
    writeLoad(lab.stage, { port, path, frames, connections }),
  );
}

function saveFrame(key: string): string {
  const request = create(SaveSettingsRequestSchema, { settings: [{ key, value: VALUE }] });
  return framed(toBinary(SaveSettingsRequestSchema, request)).toString("base64");
}

/** The bare loop: a process that commits for the length of a round. */
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
